// A benchmark's table: rows of medians, for people and as JSON.

export interface Row {
  readonly name: string;
  readonly values: Readonly<Record<string, number | string>>;
}

export interface Table {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** A named group of measurements. `runs` is the number of repetitions; the table shows medians. */
export interface Case {
  readonly name: string;
  run(runs: number, size?: number): Promise<readonly Table[]> | readonly Table[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? high) + high) / 2;
}

export function render(table: Table): string {
  const columns = [...new Set(table.rows.flatMap((row) => Object.keys(row.values)))];
  const cells = [
    ["", ...columns],
    ...table.rows.map((row) => [row.name, ...columns.map((column) => show(row.values[column]))]),
  ];
  const widths =
    cells[0]?.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0))) ?? [];
  const lines = cells.map((line) =>
    line
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
  return [table.title, ...lines].join("\n");
}

function show(value: number | string | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(value < 10 ? 2 : 1);
}
