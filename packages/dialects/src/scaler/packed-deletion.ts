// The message that tells workers which objects were deleted [scaler 5.5]. Its ids are packed once
// for all workers; the frames before them differ, and are written in front of them.

import { word } from "./codec.js";
import { isProgram, letterFrame, pushObjects } from "./frames.js";
import type { ObjectRequester } from "./object-exchange.js";

/** OI, D, an identity and three counts, each with two bytes in front. */
const headBytesMax = 6 * 2 + 2 + 1 + 255 + 12;

export class PackedDeletion {
  readonly #bytes: Buffer;
  readonly #count: number;

  /** Ids as text, one character per byte. */
  constructor(ids: readonly string[]) {
    this.#count = ids.length;
    const size = ids.reduce((sum, id) => sum + 2 + id.length, 0);
    const bytes = Buffer.allocUnsafeSlow(headBytesMax + size);
    let at = headBytesMax;
    ids.forEach((id, index) => {
      bytes[at] = index < ids.length - 1 ? 1 : 0;
      bytes[at + 1] = id.length;
      bytes.write(id, at + 2, "latin1");
      at += 2 + id.length;
    });
    this.#bytes = bytes;
  }

  sendTo(requester: ObjectRequester): void {
    const bytes = this.#bytes;
    const head = deletion(requester, [], this.#count);
    const from = head.reduce((at, { length }) => at - 2 - length, headBytesMax);
    let at = from;
    for (const frame of head) {
      bytes[at] = 1;
      bytes[at + 1] = frame.length;
      bytes.set(frame, at + 2);
      at += 2 + frame.length;
    }
    requester.line.sendPacked(bytes, from, bytes.length);
  }
}

/** `count` is the number of ids, if the ids are not among the given frames. */
export function deletion(
  { wire, hasSplitCounts, line }: ObjectRequester,
  ids: readonly Buffer[],
  count = ids.length,
): Buffer[] {
  const head = isProgram(wire)
    ? [word.OI, letterFrame("D"), line.identity]
    : [word.OI, line.identity, letterFrame("D")];
  return pushObjects(head, { ids, names: [], bytes: [], hasSplitCounts }, count);
}
