// What a security mechanism is to a connection: commands in, commands out, and at the end the peer's metadata.
// It is chosen by name in the greeting and does no I/O. One that hides traffic also seals each frame, as CURVE does
// with its MESSAGE commands; one that does not (NULL, PLAIN) leaves `seal` out and costs nothing after the handshake.

import type { Command } from "../commands.js";
import type { FaultKind } from "../faults.js";
import type { Metadata } from "../metadata.js";

export interface MechanismContext {
  /** Our properties, encoded, to be sent when the mechanism thinks fit. */
  readonly metadata: Buffer;
  /** Who bound: NULL has no other notion of client and server. */
  readonly isBound: boolean;
}

export type MechanismStep =
  | { readonly kind: "wait"; readonly send: readonly Buffer[] }
  | { readonly kind: "done"; readonly send: readonly Buffer[]; readonly metadata: Metadata }
  | { readonly kind: "fault"; readonly fault: FaultKind; readonly send: readonly Buffer[] };

export interface Opened {
  readonly isMore: boolean;
  readonly isCommand: boolean;
  readonly body: Buffer;
}

export interface Seal {
  /** The body of a command that carries this frame. */
  close(frame: Opened): Buffer;
  /** The frame inside a command, or undefined if it was tampered with. */
  open(command: Command): Opened | undefined;
}

export interface Mechanism {
  /** When both greetings have been seen and agree: what to send first. Bodies of commands, framed by the caller. */
  start(): readonly Buffer[];
  /** Each command until `done` or `fault`. */
  receive(command: Command): MechanismStep;
  readonly seal?: Seal;
}

/** What a socket is configured with; makes the state of one connection. */
export interface Security {
  /** As in the greeting: at most 20 of A-Z, 0-9, - and _. */
  readonly name: string;
  readonly isServer: boolean;
  open(context: MechanismContext): Mechanism;
}
