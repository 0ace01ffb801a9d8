// A message on its way through the scheduler: what was read of it, its original frames, and its
// sender.

import type { Moment } from "@yardmaster/core";
import type { ReadMessage } from "./codec.js";
import type { Frames } from "./questions.js";

export interface Sender<Peer> {
  readonly peer: Peer;
  readonly address: string;
  /**
   * [monique 4.9] Identifies this client's subscribers; empty if they cannot be told from others.
   */
  readonly client: string;
}

/**
 * Who hears a message. With a client [monique 4.9]: either only its subscribers, or only the
 * others.
 */
export interface Audience {
  /** The spec of the question that the message answers. An error does not name it. */
  readonly spec: string;
  readonly client?: string;
  readonly isOwn?: boolean;
}

export interface Incoming<Peer> extends ReadMessage {
  readonly frames: Frames;
  readonly sender: Sender<Peer>;
}

/** [monique 5.1] */
export function isExpired(expiresAt: number, now: Moment): boolean {
  return expiresAt !== 0 && expiresAt <= now.wall;
}
