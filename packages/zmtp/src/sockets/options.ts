// What a socket is made with: the callbacks of its user, and settings that all have defaults.

import { type BackoffSettings, defaultBackoff } from "../backoff.js";
import type { FaultKind } from "../faults.js";
import { defaultHeartbeat, type HeartbeatSettings } from "../heartbeat.js";
import { defaultLimits, type Limits } from "../limits.js";
import type { Security } from "../mechanisms/mechanism.js";
import { nullSecurity } from "../mechanisms/null.js";
import type { SocketType } from "../socket-types.js";
import { type Clock, realClock } from "./clock.js";
import type { GoneReason, Peer } from "./peer.js";
import type { Totals } from "./send-queue.js";

/** Called synchronously. What they throw is a fault of the program and is not caught here. */
export interface SocketHandlers {
  /** A peer has finished its handshake. It may be sent to from here on, also from within. */
  onPeer?: (peer: Peer) => void;
  /** A peer that was announced is no more. What it had not taken is dropped. */
  onPeerGone?: (peer: Peer, reason: GoneReason) => void;
  /** A peer whose send was refused as "full" has drained to half of its mark. */
  onRoom?: (peer: Peer) => void;
  /** A peer did something wrong; undefined if it never became one. The counters have it too. */
  onFault?: (peer: Peer | undefined, kind: FaultKind) => void;
  /** connect() could not reach the other end, or was turned away; it is tried again. */
  onConnectFailed?: (endpoint: string, error: Error, retryMs: number) => void;
}

export interface ReceivingHandlers {
  /**
   * One whole message, as it is read. Frames are slices of the read buffer (up to 64 KiB), which lives as long as any
   * of them: a small frame that is kept for long should be copied.
   */
  onMessage?: (peer: Peer, frames: Buffer[]) => void;
}

export interface SocketOptions extends SocketHandlers {
  readonly limits?: Partial<Limits>;
  readonly heartbeat?: Partial<HeartbeatSettings>;
  readonly reconnect?: Partial<BackoffSettings>;
  readonly security?: Security;
  readonly clock?: Clock;
  /** Given to several sockets, their limits of bytes over all peers are one limit over all of them. */
  readonly totals?: Totals;
}

export interface IdentityOption {
  /** What a ROUTER at the other end calls us: 1 to 255 bytes, the first not zero. */
  readonly identity?: string | Uint8Array;
}

export interface Settings {
  readonly limits: Limits;
  readonly heartbeat: HeartbeatSettings;
  readonly reconnect: BackoffSettings;
  readonly security: Security;
  readonly clock: Clock;
  readonly identity: Buffer;
}

// A consumer whose own queue is full stops reading, and then cannot answer a PING: libzmq does so. Where peers only
// take, silence is therefore no sign of death for a good while.
const patientDeadMs = 60_000;

export function settle(type: SocketType, options: SocketOptions & IdentityOption): Settings {
  const isTakenFrom = type === "PUSH" || type === "PUB";
  return {
    limits: { ...defaultLimits, ...options.limits },
    heartbeat: { ...defaultHeartbeat, ...(isTakenFrom && { deadMs: patientDeadMs }), ...options.heartbeat },
    reconnect: { ...defaultBackoff, ...options.reconnect },
    security: options.security ?? nullSecurity,
    clock: options.clock ?? realClock,
    identity: readIdentity(options.identity),
  };
}

function readIdentity(identity: string | Uint8Array | undefined): Buffer {
  const bytes = Buffer.from(identity ?? "");
  if (bytes.length > 255 || bytes[0] === 0) {
    throw new RangeError("an identity is 1 to 255 bytes, the first of which is not zero");
  }
  return bytes;
}
