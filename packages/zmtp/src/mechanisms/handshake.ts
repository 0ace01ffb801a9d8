// What the mechanisms share: how a handshake fails, and who decides about a peer.

import type { FaultKind } from "../faults.js";
import type { MechanismStep } from "./mechanism.js";

/** What a peer shows of itself. */
export type Credentials =
  | { readonly mechanism: "NULL" }
  | {
      readonly mechanism: "PLAIN";
      readonly username: string;
      /** Erased when `authenticate` returns. Compare it in constant time. */
      readonly password: Buffer;
    }
  | {
      readonly mechanism: "CURVE";
      /** The client's long-term public key in Z85. The client has proved that it owns it. */
      readonly publicKey: string;
    };

/**
 * Returns the peer's principal, a value that only the caller interprets, or undefined to refuse it.
 * Called once in each handshake, synchronously. Principals are compared with ===, so a name or
 * another value that stays the same is best.
 */
export type Authenticate = (credentials: Credentials, address: string) => unknown;

/**
 * What `authenticate` returns for PLAIN to put a peer off without looking at its password: the
 * connection is closed without an ERROR command, ZAP's status 300. libzmq then connects again,
 * which it never does after a refusal.
 */
export const tryLater: unique symbol = Symbol("try later");

const nothing: readonly Buffer[] = [];

/** ZAP's status for wrong credentials [27/ZAP]. libzmq does not reconnect after it. */
export const deniedStatus = "400";

export function failed(fault: FaultKind): MechanismStep {
  return { kind: "fault", fault, send: nothing };
}

/** A command that is not the one that has to come now. */
export function unexpected(name: string): MechanismStep {
  return failed(name === "ERROR" ? "refused" : "unexpected_command");
}
