// A message on its way through the scheduler: what was read of it, its frames as they came, and who sent it.

import type { Moment } from "@yardmaster/core";
import type { ReadMessage } from "./codec.js";
import type { Frames } from "./questions.js";

export interface Sender<Peer> {
  readonly peer: Peer;
  readonly address: string;
  /** [monique 4.9] The name by which the subscribers of this client are recognised; empty if nothing shows whose they are. */
  readonly asker: string;
}

/** [monique 4.9] Either only the subscribers of the client that asked, or only the others. */
export interface Audience {
  readonly asker: string;
  readonly isOwn: boolean;
}

export interface Incoming<Peer> extends ReadMessage {
  readonly frames: Frames;
  readonly sender: Sender<Peer>;
}

/** [monique 5.1] */
export function isExpired(expiresAt: number, now: Moment): boolean {
  return expiresAt !== 0 && expiresAt <= now.wall;
}
