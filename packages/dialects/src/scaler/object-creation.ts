// A message that creates objects, read where it arrived. Its frames are lent: its handler copies
// what is kept.

import { WireFrames } from "../wire-frames.js";
import type { ObjectCounts } from "./frames.js";
import type { ObjectCreate, OversizedFrames } from "./messages.js";

export class ObjectCreation implements ObjectCreate {
  readonly type = "object-create";
  readonly frames: WireFrames;
  readonly sourceAt: number;
  /** Number of objects. */
  readonly count: number;
  readonly hasSplitCounts: boolean;
  oversized: OversizedFrames | undefined = undefined;
  readonly #first: number;

  constructor(
    frames: WireFrames,
    sourceAt: number,
    { ids, first, hasSplitCounts }: Pick<ObjectCounts, "ids" | "first" | "hasSplitCounts">,
  ) {
    this.frames = frames;
    this.sourceAt = sourceAt;
    this.count = ids;
    this.hasSplitCounts = hasSplitCounts;
    this.#first = first;
  }

  static of(message: ObjectCreate): ObjectCreation {
    if (message instanceof ObjectCreation) return message;
    const { source, ids, names, bytes, hasSplitCounts } = message;
    const frames = WireFrames.of([source, ...ids, ...names, ...bytes]);
    return new ObjectCreation(frames, 0, { ids: ids.length, first: 1, hasSplitCounts });
  }

  /** The frames of object `index`. */
  idAt(index: number): number {
    return this.#first + index;
  }

  nameAt(index: number): number {
    return this.#first + this.count + index;
  }

  bytesAt(index: number): number {
    return this.#first + 2 * this.count + index;
  }

  get source(): Buffer {
    return this.frames.slice(this.sourceAt);
  }

  get ids(): readonly Buffer[] {
    return this.frames.slices(this.idAt(0), this.nameAt(0));
  }

  get names(): readonly Buffer[] {
    return this.frames.slices(this.nameAt(0), this.bytesAt(0));
  }

  get bytes(): readonly Buffer[] {
    return this.frames.slices(this.bytesAt(0));
  }
}
