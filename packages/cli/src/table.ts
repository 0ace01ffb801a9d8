// A table that fits the terminal: columns are as wide as their content, and if that is too much the
// widest are cut.

import { cut, padded, paint, printable, type Style, shownWidth, widthOf } from "./terminal.js";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "left" | "right";
  /** It may be cut. Other columns are cut only when nothing else helps. */
  readonly isElastic?: boolean;
  readonly paint?: (row: Row, shown: string) => string;
}

const gap = "  ";
const elasticMin = 6;

export function tableLines<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number = widthOf(),
): string[] {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))));
  const natural = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((line) => shownWidth(line[at] ?? ""))),
  );
  const widths = fitted(natural, columns, width);
  const head = columns.map(({ title, align }, at) =>
    padded(cut(title, widths[at] ?? 0), widths[at] ?? 0, align),
  );
  const lines = [styled("bold", head.join(gap).trimEnd(), width)];
  for (const [index, line] of cells.entries()) {
    const row = rows[index] as Row;
    const shown = columns.map((column, at) => {
      const cell = padded(cut(line[at] ?? "", widths[at] ?? 0), widths[at] ?? 0, column.align);
      const last = at === columns.length - 1 ? cell.trimEnd() : cell;
      return column.paint?.(row, last) ?? last;
    });
    lines.push(shown.join(gap).trimEnd());
  }
  return lines;
}

function styled(style: Style, line: string, width: number): string {
  return paint(style, cut(line, width));
}

/** Shrinks the widest elastic columns, one character at a time. */
function fitted(natural: readonly number[], columns: readonly Column<never>[], width: number): number[] {
  const widths = [...natural];
  const room = width - gap.length * (columns.length - 1);
  const total = () => widths.reduce((sum, one) => sum + one, 0);
  const shrink = (may: (at: number) => boolean): boolean => {
    let widest = -1;
    for (const [at, one] of widths.entries()) {
      if (may(at) && (widest < 0 || one > (widths[widest] ?? 0))) widest = at;
    }
    if (widest < 0) return false;
    widths[widest] = (widths[widest] ?? 0) - 1;
    return true;
  };
  while (total() > room && shrink((at) => columns[at]?.isElastic === true && (widths[at] ?? 0) > elasticMin));
  while (total() > room && shrink((at) => (widths[at] ?? 0) > 1));
  return widths;
}
