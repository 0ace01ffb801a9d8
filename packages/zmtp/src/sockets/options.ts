// The options of a socket: its user's callbacks, and settings that all have defaults.

import type { Server } from "node:net";
import { type BackoffSettings, defaultBackoff } from "../backoff.js";
import type { DroppedFrames } from "../connection.js";
import type { FaultKind } from "../faults.js";
import { defaultHeartbeat, type HeartbeatSettings } from "../heartbeat.js";
import { defaultLimits, type Limits } from "../limits.js";
import { type SecurityOption, type SettledSecurity, settleSecurity } from "../mechanisms/security-option.js";
import type { SocketType } from "../socket-types.js";
import type { Assembly } from "./assembly.js";
import { type Clock, realClock } from "./clock.js";
import type { GoneReason, Peer } from "./peer.js";
import type { Totals } from "./send-queue.js";

/**
 * Called synchronously. An exception in a callback is a bug of the program and is not caught here.
 */
export interface SocketHandlers {
  /**
   * A peer has finished its handshake. From here on it may be sent to, even inside this callback.
   */
  onPeer?: (peer: Peer) => void;
  /** An announced peer is gone. Its unsent data is dropped. */
  onPeerGone?: (peer: Peer, reason: GoneReason) => void;
  /** A peer whose send was refused as "full" has drained to half of its high-water mark. */
  onRoom?: (peer: Peer) => void;
  /**
   * A peer made a mistake; undefined if it never finished its handshake. The counters include it.
   */
  onFault?: (peer: Peer | undefined, kind: FaultKind) => void;
  /**
   * connect() could not reach the other end, or was rejected. It retries after `retryMs`; Infinity
   * means that it does not, because its security settings can never work.
   */
  onConnectFailed?: (endpoint: string, error: Error, retryMs: number) => void;
}

export interface ReceivingHandlers {
  /**
   * One whole message. Frames are slices of the read buffer (up to 64 KiB), which lives as long as
   * any of them: copy a small frame that is kept for long.
   * With `dropsOversized`, an empty frame replaces one that was too large; `dropped` has its size.
   */
  onMessage?: (peer: Peer, frames: Buffer[], dropped?: DroppedFrames) => void;
}

/** Limits what all peers of one principal use together, over any number of sockets. */
export interface PeerMeter {
  /** A peer has finished its handshake. False: it is refused as "over_quota". */
  joins(peer: Peer): boolean;
  /**
   * The peer's unfinished messages have this many bytes. False: its connection ends as
   * "over_quota".
   */
  holds(peer: Peer, bytes: number): boolean;
  /** A peer that joined is gone. */
  left(peer: Peer): void;
}

export interface SocketOptions extends SocketHandlers {
  readonly limits?: Partial<Limits>;
  readonly heartbeat?: Partial<HeartbeatSettings>;
  readonly reconnect?: Partial<BackoffSettings>;
  /**
   * Who may connect, or the credentials to connect with. A socket with the first cannot connect(),
   * and one with the second cannot bind(). Without it, everyone may, and shows nothing (NULL).
   */
  readonly security?: SecurityOption;
  /**
   * Says whether a TCP connection from this address is accepted. One that is not is closed before
   * anything is sent, and counted as "address_refused".
   */
  readonly admits?: (host: string) => boolean;
  /**
   * Called with the server of each bound endpoint once it listens, for example to accept with more
   * handles. The result is closed together with the server.
   */
  readonly onListening?: (server: Server) => { close(): Promise<void> };
  readonly meter?: PeerMeter;
  readonly clock?: Clock;
  /** Sockets that share this object share their byte limits over all peers. */
  readonly totals?: Totals;
  /**
   * Sockets that share this object share a limit for unfinished messages, in addition to
   * `assemblyBytesMax` of each.
   */
  readonly assembly?: Assembly;
  /**
   * A frame above a limit is read and dropped, so that its sender can be answered. Otherwise it
   * ends the connection.
   */
  readonly dropsOversized?: boolean;
}

export interface IdentityOption {
  /** Our name for a ROUTER at the other end: 1 to 255 bytes, the first not zero. */
  readonly identity?: string | Uint8Array;
}

export interface Settings {
  readonly limits: Limits;
  readonly heartbeat: HeartbeatSettings;
  readonly reconnect: BackoffSettings;
  readonly security: SettledSecurity;
  readonly clock: Clock;
  readonly dropsOversized: boolean;
  readonly identity: Buffer;
  readonly admits: ((host: string) => boolean) | undefined;
  readonly onListening: SocketOptions["onListening"];
}

// A consumer with a full queue stops reading and then cannot answer a PING; libzmq behaves like
// this. So where peers only receive, silence counts as death only after a long time.
const patientDeadMs = 60_000;

export function settle(type: SocketType, options: SocketOptions & IdentityOption): Settings {
  const isTakenFrom = type === "PUSH" || type === "PUB";
  return {
    limits: { ...defaultLimits, ...options.limits },
    heartbeat: { ...defaultHeartbeat, ...(isTakenFrom && { deadMs: patientDeadMs }), ...options.heartbeat },
    reconnect: { ...defaultBackoff, ...options.reconnect },
    security: settleSecurity(options.security),
    clock: options.clock ?? realClock,
    dropsOversized: options.dropsOversized ?? false,
    identity: readIdentity(options.identity),
    admits: options.admits,
    onListening: options.onListening,
  };
}

function readIdentity(identity: string | Uint8Array | undefined): Buffer {
  const bytes = Buffer.from(identity ?? "");
  if (bytes.length > 255 || bytes[0] === 0) {
    throw new RangeError("an identity is 1 to 255 bytes, the first of which is not zero");
  }
  return bytes;
}
