// Places text at given columns of a line, so that a screen of rows lines up whatever is in them.

import { cut, padded, printable } from "../terminal.js";

export interface Cell {
  readonly text: string;
  /** The first column, or with `right` the column after the last. */
  readonly at: number;
  readonly width: number;
  readonly right?: boolean;
  /** Applied after the text was cut and padded: colours have no width. */
  readonly paint?: (text: string) => string;
}

/** Writes cells from left to right; a gap is at least as wide as the columns between two cells. */
export function lineOf(cells: readonly Cell[], width: number): string {
  let line = "";
  let end = 0;
  for (const { text, at, width: room, right, paint } of cells) {
    const start = right ? at - room : at;
    const space = Math.min(room, width - start);
    if (space <= 0) continue;
    const shown = padded(cut(printable(text), space), space, right ? "right" : "left");
    line += " ".repeat(Math.max(0, start - end)) + (paint?.(shown) ?? shown);
    end = Math.max(end, start) + space;
  }
  return line.trimEnd();
}

/** One text at the left edge and one at the right. */
export function bothEnds(left: string, right: string, width: number): string {
  const room = width - right.length - 1;
  return room < 1 ? cut(right, width) : `${padded(cut(printable(left), room), room)} ${right}`.trimEnd();
}
