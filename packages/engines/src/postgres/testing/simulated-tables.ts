// The tables of the simulated servers. A row is never changed in place, so a copy of the tables is
// cheap.

import { schemaVersion } from "../schema.js";

// biome-ignore lint/suspicious/noExplicitAny: the columns differ from table to table
export type Row = Readonly<Record<string, any>>;

export type TableName = "owner" | "fold" | "log" | "items";

export type Tables = Readonly<Record<TableName, Map<string | number, Row>>>;

export interface RowChange {
  readonly table: TableName;
  readonly key: string | number;
  /** Undefined if it is deleted. */
  readonly row: Row | undefined;
}

export function firstTables(): Tables {
  const owner = { version: schemaVersion, epoch: 0, start: 0, position: 0, safe: 0, beat: 0, instance: "" };
  return {
    owner: new Map([[1, owner]]),
    fold: new Map([[1, { position: 0, last_task: 0, lanes: "[0]", trimmed: "[0]" }]]),
    log: new Map(),
    items: new Map(),
  };
}

export function copyOf({ owner, fold, log, items }: Tables): Tables {
  return { owner: new Map(owner), fold: new Map(fold), log: new Map(log), items: new Map(items) };
}

export function apply(tables: Tables, changes: readonly RowChange[]): void {
  for (const { table, key, row } of changes) {
    if (row === undefined) tables[table].delete(key);
    else tables[table].set(key, row);
  }
}
