// Notices when a datagram socket holds more input than we can read. The message we wait for may
// then already be there, so no peer's silence counts.

import type { Moment } from "@yardmaster/core";

/**
 * Reads of one socket before timers and other sockets get their turn. If this many succeeded, there
 * is probably more.
 */
const readsAtOnce = 32;

export class ReadBacklog {
  #turn: Moment | undefined;
  #reads = 0;
  #isBehind = false;

  /** Records a read in the turn of this moment. */
  read(turn: Moment): void {
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#reads = 0;
    }
    this.#reads += 1;
    if (this.#reads >= readsAtOnce) this.#isBehind = true;
  }

  /** True if we were behind at any time since the last call. */
  takeIsBehind(): boolean {
    const isBehind = this.#isBehind;
    this.#isBehind = false;
    return isBehind;
  }
}
