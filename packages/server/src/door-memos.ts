// What doors wrote down in earlier lives and have not yet taken.

import type { MemoRecord } from "@yardmaster/core";

export class DoorMemos {
  readonly #byDoor = new Map<string, Map<string, Uint8Array>>();

  put({ door, name, bytes }: MemoRecord): void {
    const memos = this.#byDoor.get(door);
    if (memos === undefined) this.#byDoor.set(door, new Map([[name, bytes]]));
    else memos.set(name, bytes);
  }

  take(door: string): ReadonlyMap<string, Uint8Array> {
    const memos = this.#byDoor.get(door) ?? new Map<string, Uint8Array>();
    this.#byDoor.delete(door);
    return memos;
  }
}
