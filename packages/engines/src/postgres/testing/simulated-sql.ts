// What the simulated server does with the engine's statements. Conditions and assignments on the
// owner row, the fold row and the log are taken from the text of the statement, so that the fence
// is tested as it is written. Statements that decide nothing have a fixed answer.

import type { Row, RowChange, TableName, Tables } from "./simulated-tables.js";

export interface Ran {
  readonly rows?: readonly Row[];
  readonly count?: number;
  readonly changes?: readonly RowChange[];
}

export interface Plan {
  /** The row that it locks until its transaction ends. */
  readonly locks?: TableName | undefined;
  /** Runs with the lock. `seenOwner`: the owner row as it was before the wait for the lock. */
  run(tables: Tables, values: readonly unknown[], seenOwner: Row): Ran;
}

type Expression = (row: Row, values: readonly unknown[]) => unknown;

const words = new Map([
  ["and", "&&"],
  ["or", "||"],
  ["null", "null"],
  ["greatest", "Math.max"],
]);
const operators = new Map([
  ["=", "==="],
  ["<>", "!=="],
]);

/** Expressions are those of JavaScript, apart from a few words and signs. */
function expressionOf(sql: string): Expression {
  const script = sql.replace(
    /'[^']*'|\$(\d+)|::\w+|[<>=]+|[a-z_]+/g,
    (token, parameter: string | undefined) => {
      if (parameter !== undefined) return `values[${Number(parameter) - 1}]`;
      if (token.startsWith("::")) return "";
      if (/^[a-z]/.test(token)) return words.get(token) ?? `row.${token}`;
      return operators.get(token) ?? token;
    },
  );
  return new Function("row", "values", `return ${script}`) as Expression;
}

/** `a = b + 1, c = greatest(d, e)` */
function assignmentsOf(sql: string): (row: Row, values: readonly unknown[]) => Row {
  const parts = sql.split(/,(?![^(]*\))/).map((part) => {
    const [, column = "", value = ""] = /^\s*(\w+) = (.+)$/.exec(part) ?? [];
    return { column, value: expressionOf(value) };
  });
  return (row, values) => ({
    ...row,
    ...Object.fromEntries(parts.map(({ column, value }) => [column, value(row, values)])),
  });
}

function matching(where: string | undefined) {
  const condition = where === undefined ? () => true : expressionOf(where);
  return (tables: Tables, table: string, values: readonly unknown[]) =>
    [...tables[table as TableName]].filter(([, row]) => condition(row, values));
}

function updatePlan([, name = "", set = "", where]: readonly (string | undefined)[]): Plan {
  const table = name as TableName;
  const rowsOf = matching(where);
  const assigned = assignmentsOf(set);
  return {
    locks: table,
    run(tables, values) {
      const changes = rowsOf(tables, table, values).map(([key, row]) => ({
        table,
        key,
        row: assigned(row, values),
      }));
      return { changes, count: changes.length };
    },
  };
}

function appendPlan([, update = ""]: readonly string[]): Plan {
  const inner = planOf(update);
  return {
    locks: "owner",
    run(tables, values, seenOwner) {
      const { changes = [] } = inner.run(tables, values, seenOwner);
      const logged = changes.map(({ row }): RowChange => {
        const position = row?.position as number;
        if (tables.log.has(position))
          throw Object.assign(new Error("duplicate position in log"), { code: "23505" });
        return { table: "log", key: position, row: { position, bytes: values[2] } };
      });
      return { changes: [...changes, ...logged], count: logged.length };
    },
  };
}

function selectPlan([, table = "", where, order, limit]: readonly (string | undefined)[]): Plan {
  const rowsOf = matching(where);
  return {
    run(tables, values) {
      const rows = rowsOf(tables, table, values).map(([, row]) => row);
      if (order !== undefined) rows.sort((a, b) => Number(a[order] > b[order]) || -1);
      return { rows: rows.slice(0, Number(limit ?? rows.length)), count: rows.length };
    },
  };
}

/** Locks the fold row. The other table of a join is read as it was when the statement began. */
function foldRowPlan([, lock]: readonly (string | undefined)[]): Plan {
  return {
    locks: lock === undefined ? undefined : "fold",
    run: ({ fold }, _values, seenOwner) => ({ rows: [{ ...seenOwner, ...fold.get(1) }], count: 1 }),
  };
}

function deletePlan([, name = "", where]: readonly (string | undefined)[]): Plan {
  const table = name as TableName;
  const rowsOf = matching(where);
  return {
    run(tables, values) {
      const changes = rowsOf(tables, table, values).map(([key]) => ({ table, key, row: undefined }));
      return { changes, count: changes.length };
    },
  };
}

type Columns = readonly (readonly unknown[])[];

const putItems: Plan = {
  run(_tables, [block, ...columns]) {
    const [kinds = [], names = [], tasks = [], starts = [], lengths = []] = columns as Columns;
    const changes = kinds.map((kind, index): RowChange => {
      const start = (starts[index] as number) - 1;
      const bytes = (block as Buffer).subarray(start, start + (lengths[index] as number));
      const name = names[index];
      const row = { kind, name, task: tasks[index], bytes, length: bytes.length };
      return { table: "items", key: `${kind} ${name}`, row };
    });
    return { changes, count: changes.length };
  },
};

const fixed = (row: Row): Plan => ({ run: () => ({ rows: [row], count: 1 }) });
const nothing: Plan = { run: () => ({ count: 0 }) };

/** Smaller than that of the statement, so that folds take several groups. */
const groupMax = 4;

const plans: readonly (readonly [RegExp, (parts: readonly string[]) => Plan])[] = [
  [/^update (owner|fold) set (.+?)(?: where (.+))?$/, updatePlan],
  [
    /^with own as \( ?(update .+) returning position\) insert into log \(position, bytes\) select/,
    appendPlan,
  ],
  [/^select .* from fold f, owner( for update of f)?$/, foldRowPlan],
  [
    /^select position, bytes from \(.* from log where (.+) order by position limit \d+\) l /,
    ([, where]) => selectPlan(["", "log", where, "position", String(groupMax)]),
  ],
  [
    /^select .* from (owner|fold|log|items)(?: where (.+?))?(?: order by (\w+))?(?: limit (\d+))?$/,
    selectPlan,
  ],
  [/^delete from (log) where (.+)$/, deletePlan],
  [/^insert into items .* unnest/, () => putItems],
  [/^select current_setting/, () => fixed({ names: "*", sync: "on", fsync: "on" })],
  [/^select (1 from )?pg_/, () => fixed({})],
  // No batch of the simulation has tasks or bodies. The list of nodes decides nothing.
  [/ (tasks|bundles|bodies|nodes) /, () => nothing],
];

const known = new Map<string, Plan>();

export function planOf(text: string): Plan {
  const plain = text.replace(/\s+/g, " ").trim();
  const plan = known.get(plain) ?? newPlan(plain);
  known.set(plain, plan);
  return plan;
}

function newPlan(text: string): Plan {
  for (const [pattern, make] of plans) {
    const parts = pattern.exec(text);
    if (parts !== null) return make(parts);
  }
  throw new Error(`the simulated server does not know this statement: ${text}`);
}
