// A message that deletes very many objects, read where it arrived. Its memory may be kept.

import type { WireFrames } from "../wire-frames.js";
import type { ObjectDelete } from "./messages.js";

export class ObjectDeletion implements ObjectDelete {
  readonly type = "object-delete";
  readonly frames: WireFrames;
  readonly hasSplitCounts: boolean;
  readonly #sourceAt: number;
  /** The frame of the first id. */
  readonly #first: number;

  constructor(frames: WireFrames, sourceAt: number, first: number, hasSplitCounts: boolean) {
    this.frames = frames;
    this.hasSplitCounts = hasSplitCounts;
    this.#sourceAt = sourceAt;
    this.#first = first;
  }

  /** Number of objects. */
  get count(): number {
    return this.frames.count - this.#first;
  }

  get source(): Buffer {
    return this.frames.slice(this.#sourceAt);
  }

  get ids(): readonly Buffer[] {
    return this.frames.slices(this.#first);
  }

  idOf(index: number): Buffer {
    return this.frames.slice(this.#first + index);
  }
}
