// Memos that doors wrote before this start and have not taken yet.

import type { MemoRecord } from "@yardmaster/core";

export class DoorMemos {
  readonly #byDoor = new Map<string, Map<string, Uint8Array>>();
  /** Sizes of the memos that the engine did not load. */
  readonly #large = new Map<string, Map<string, number>>();

  put({ door, name, bytes }: MemoRecord): void {
    const memos = this.#byDoor.get(door);
    if (memos === undefined) this.#byDoor.set(door, new Map([[name, bytes]]));
    else memos.set(name, bytes);
  }

  putLarge(door: string, name: string, size: number): void {
    const memos = this.#large.get(door);
    if (memos === undefined) this.#large.set(door, new Map([[name, size]]));
    else memos.set(name, size);
  }

  takeLarge(door: string): ReadonlyMap<string, number> {
    const memos = this.#large.get(door) ?? new Map<string, number>();
    this.#large.delete(door);
    return memos;
  }

  take(door: string): ReadonlyMap<string, Uint8Array> {
    const memos = this.#byDoor.get(door) ?? new Map<string, Uint8Array>();
    this.#byDoor.delete(door);
    return memos;
  }
}
