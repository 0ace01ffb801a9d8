// How large the payloads and results of the crash test are: most as small as their mark, some around what the embedded
// engine keeps inside a record, a few far above.

import { bodySizes, hugeSize, textOfSize } from "../end-to-end/body-sizes.js";

/** How many of a thousand bodies are huge, and how many have one of the other sizes. */
const hugePermille = 2;
const sizedPermille = 150;

/** The mark, with as much behind it as makes it one of the sizes. Without its mark where that does not fit. */
export function sized(mark: string): string {
  const size = drawnSize();
  if (size === undefined) return mark;
  return size < mark.length ? textOfSize(size, mark) : mark + textOfSize(size - mark.length, " x");
}

/** The same for one that has to be recognised by its mark. */
export function sizedWithMark(mark: string): string {
  const text = sized(mark);
  return text.startsWith(mark) ? text : mark;
}

function drawnSize(): number | undefined {
  const drawn = 1000 * Math.random();
  if (drawn < hugePermille) return hugeSize;
  return drawn < sizedPermille ? bodySizes[Math.floor(Math.random() * bodySizes.length)] : undefined;
}
