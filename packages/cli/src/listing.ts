// Prints a list as JSON lines or as a table. An empty table is a sentence that says what to do.

import { print, printJson, warn } from "./command.js";
import { type Column, tableLines } from "./table.js";

export function printList<Row>(
  items: readonly Row[],
  columns: readonly Column<Row>[],
  { json = false }: { readonly json?: boolean | undefined },
  whenEmpty: string,
): void {
  if (json) for (const item of items) printJson(item);
  else if (items.length === 0) warn(whenEmpty);
  else for (const line of tableLines(items, columns)) print(line);
}
