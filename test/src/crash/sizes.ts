// Sizes of payloads and results in the crash test: most are as small as their mark, some are close
// to the limit of a record in the embedded engine, and a few are far above it.

import { bodySizes, hugeSize, textOfSize } from "../end-to-end/body-sizes.js";

/** Bodies in a thousand that are huge, and that have one of the other sizes. */
const hugePermille = 2;
const sizedPermille = 150;

/** The mark, padded to one of the sizes. Without the mark if it does not fit. */
export function sized(mark: string): string {
  const size = drawnSize();
  if (size === undefined) return mark;
  return size < mark.length ? textOfSize(size, mark) : mark + textOfSize(size - mark.length, " x");
}

/** The same, for a body that must contain its mark. */
export function sizedWithMark(mark: string): string {
  const text = sized(mark);
  return text.startsWith(mark) ? text : mark;
}

function drawnSize(): number | undefined {
  const drawn = 1000 * Math.random();
  if (drawn < hugePermille) return hugeSize;
  return drawn < sizedPermille ? bodySizes[Math.floor(Math.random() * bodySizes.length)] : undefined;
}
