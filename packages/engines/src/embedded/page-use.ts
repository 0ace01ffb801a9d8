// Which pages of a file are in use, and which are free: each is one of the two, once.

import { BadRecord } from "../records/index.js";
import { longAt } from "./page-form.js";

export class PageUse {
  readonly #lastPage: number;
  /** One bit per page: a tree has it, or it is free. */
  readonly #seen: Uint8Array;

  constructor(lastPage: number) {
    this.#lastPage = lastPage;
    this.#seen = new Uint8Array(Math.ceil((lastPage + 1) / 8));
  }

  /** A tree leads to this page. Throws BadRecord. */
  use(name: string, page: number): void {
    if (!(page >= 2 && page <= this.#lastPage))
      throw new BadRecord(`${name} leads to page ${page}, and the file has no such page`);
    if (!this.#mark(page)) throw new BadRecord(`${name} leads to page ${page}, which is in use elsewhere`);
  }

  /**
   * Reads a list of free pages, after all trees: a count, then page numbers. A negative entry is
   * the length of a run that starts at the next entry; zero means nothing. Throws BadRecord.
   */
  free(list: Buffer): void {
    const count = list.length >= 8 ? longAt(list, 0) : Number.POSITIVE_INFINITY;
    if (8 * (count + 1) > list.length) throw new BadRecord("a list of free pages is longer than its record");
    for (let at = 1; at <= count; at++) {
      let length = 1;
      const entry = list.readBigInt64LE(8 * at);
      if (entry === 0n) continue;
      if (entry < 0n) {
        at += 1;
        if (at > count) return;
        length = Number(-entry);
      }
      this.#freeRun(longAt(list, 8 * at), length);
    }
  }

  #freeRun(first: number, length: number): void {
    if (!(first >= 2 && first + length - 1 <= this.#lastPage))
      throw new BadRecord(`page ${first} is among the free ones, and the file has no such page`);
    for (let page = first; page < first + length; page++) {
      // LMDB would give a page that is free twice to two trees.
      if (!this.#mark(page))
        throw new BadRecord(`page ${page} is among the free ones, and is in use or free twice`);
    }
  }

  /** Returns false if the page was seen before. */
  #mark(page: number): boolean {
    const byte = this.#seen[page >> 3] as number;
    const bit = 1 << (page & 7);
    this.#seen[page >> 3] = byte | bit;
    return (byte & bit) === 0;
  }
}
