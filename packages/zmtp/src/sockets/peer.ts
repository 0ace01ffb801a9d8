// The other end of one connection, as the user of a socket sees it.

import type { FaultKind } from "../faults.js";
import type { Metadata } from "../metadata.js";
import type { PeerSocketType } from "../socket-types.js";

export interface Peer {
  /** Unique on its socket, never used twice. */
  readonly id: number;
  /** What it announced, or what a ROUTER made up for it; may be empty on other sockets. */
  readonly identity: Buffer;
  /** Where it is: tcp://host:port or ipc://path. */
  readonly address: string;
  readonly socketType: PeerSocketType;
  readonly version: "3.0" | "3.1";
  /** Its properties beyond type and identity; names in lower case. */
  readonly metadata: Metadata;
  readonly isOpen: boolean;
  readonly isPaused: boolean;
  /** What it has not taken yet. */
  readonly pendingBytes: number;
  readonly pendingMessages: number;
  /** Messages a PUB passed over because this peer was at its high-water mark. */
  readonly droppedMessages: number;
}

export type GoneReason =
  | "closed" // the peer hung up
  | "reset" // the connection broke
  | "silent" // no sign of life for too long
  | "replaced" // another peer took its identity over
  | "disconnected" // we hung up on this peer
  | "shutdown" // we closed the socket
  | FaultKind;
