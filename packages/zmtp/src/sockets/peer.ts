// The other end of one connection, as the socket's user sees it.

import type { FaultKind } from "../faults.js";
import type { Metadata } from "../metadata.js";
import type { PeerSocketType } from "../socket-types.js";

export interface Peer {
  /** Unique on its socket and never reused. */
  readonly id: number;
  /** The identity it announced, or the one a ROUTER generated. May be empty on other sockets. */
  readonly identity: Buffer;
  /** Its address: tcp://host:port or ipc://path. */
  readonly address: string;
  readonly socketType: PeerSocketType;
  readonly version: "3.0" | "3.1";
  /** The security mechanism of the connection: NULL, PLAIN, CURVE, or one of the program's own. */
  readonly mechanism: string;
  /** The value that `security.authenticate` returned for it; undefined without that setting. */
  readonly principal: unknown;
  /** Its properties beyond type and identity. Names are in lower case. */
  readonly metadata: Metadata;
  readonly isOpen: boolean;
  readonly isPaused: boolean;
  /** Bytes that it has not received yet. */
  readonly pendingBytes: number;
  readonly pendingMessages: number;
  /** Messages that a PUB dropped because this peer was at its high-water mark. */
  readonly droppedMessages: number;
}

export type GoneReason =
  | "closed" // the peer hung up
  | "reset" // the connection broke
  | "silent" // no sign of life for too long
  | "replaced" // another peer took its identity over
  | "disconnected" // we hung up on this peer
  | "revoked" // its principal may not stay connected
  | "shutdown" // we closed the socket
  | FaultKind;
