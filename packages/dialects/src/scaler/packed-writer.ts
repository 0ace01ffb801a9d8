// Writes messages in the form in which they arrive: before each frame a byte that is 1, or 0 for
// the last frame, and a length byte. The messages that are sent for every task are written in this
// form, because one object per frame would cost more than everything else.

import type { ScalerLine } from "./line.js";
import { firstAt } from "./packed-messages.js";

/** Room for every ordinary message. A larger one gets memory of its own. */
const scratch = Buffer.allocUnsafeSlow(8 * 1024);
/** The type's frame. */
const typeBytes = 4;

/** Sends a message: its type, and the frames of an array. Returns false if there is no room. */
export function sendPacked(line: ScalerLine, type: number, { bytes }: { readonly bytes: Buffer }): boolean {
  const from = firstAt(bytes) - 2;
  const length = typeBytes + bytes.length - from;
  const target = length <= scratch.length ? scratch : Buffer.allocUnsafeSlow(length);
  target[0] = 1;
  target[1] = 2;
  target[2] = type >> 8;
  target[3] = type & 0xff;
  const shift = typeBytes - from;
  if (target === scratch)
    for (let at = from; at < bytes.length; at++) target[at + shift] = bytes[at] as number;
  else bytes.copy(target, typeBytes, from);
  let last = 0;
  for (let at = from; at < bytes.length; at += 2 + (bytes[at + 1] as number)) {
    last = at + shift;
    target[last] = 1;
  }
  target[last] = 0;
  return line.sendPacked(target, 0, length);
}
