// Whether a datagram socket has more to read than we get round to: then what we wait for may lie there already, and
// nobody's silence means anything.

import type { Moment } from "@yardmaster/core";

/** What is read of one socket before timers and others have their turn; where as much came, there is likely more. */
const readsAtOnce = 32;

export class ReadBacklog {
  #turn: Moment | undefined;
  #reads = 0;
  #isBehind = false;

  /** Something was read, in the turn that goes by this moment. */
  read(turn: Moment): void {
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#reads = 0;
    }
    this.#reads += 1;
    if (this.#reads >= readsAtOnce) this.#isBehind = true;
  }

  /** Whether we were behind at any time since this was last asked. */
  takeIsBehind(): boolean {
    const isBehind = this.#isBehind;
    this.#isBehind = false;
    return isBehind;
  }
}
