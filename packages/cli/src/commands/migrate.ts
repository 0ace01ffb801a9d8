// `yardmaster migrate` moves everything that a stopped dispatcher has stored to another engine.

import type { StoreCounts } from "@yardmaster/server";
import { type Command, Option } from "commander";
import { count, span } from "../amounts.js";
import {
  CommandFault,
  ending,
  type JsonOption,
  newCommand,
  print,
  printJson,
  UsageFault,
  withJson,
} from "../command.js";
import { Progress } from "../progress.js";

interface Flags extends JsonOption {
  readonly from: string;
  readonly to: string;
  readonly schema: string;
  readonly requireSync: boolean;
}

export function migrateCommand(): Command {
  const command = newCommand("migrate", "move a stopped dispatcher's store to another engine", [
    {
      does: "from the embedded engine to Postgres",
      line: "yardmaster migrate --from ./yard-data --to postgres://yard@db1,db2/yard",
    },
    {
      does: "and back",
      line: "yardmaster migrate --from postgres://yard@db1,db2/yard --to ./yard-data",
    },
  ])
    .description(
      `Copies every task with its id, payload, result and story, and everything else that
the dispatcher has stored, to another engine. Stop the dispatcher first. The old
store stays as it is. The new one can be used when the command has read
everything back and compared it. If the command is interrupted, run it again.`,
    )
    .addOption(new Option("--from <store>", storeWords("the store to copy")).makeOptionMandatory())
    .addOption(new Option("--to <store>", storeWords("where to, empty or new")).makeOptionMandatory())
    .option("--schema <name>", "the schema in Postgres, as in postgres.schema", "yardmaster")
    .option("--no-require-sync", "accept a Postgres server that does not replicate\nsynchronously");
  return withJson(command, "print the counts as JSON").action(ending(migrate));
}

function storeWords(what: string): string {
  return `${what}: a folder of the embedded engine,\nor postgres://USER@HOST/DATABASE`;
}

async function migrate({ from, to, schema, requireSync, json }: Flags): Promise<number> {
  const { migrateYard, schemaNameExpected, schemaNameForm, StartFault } = await import("@yardmaster/server");
  if (!schemaNameForm.test(schema))
    throw new UsageFault(`--schema: ${schema}: expected ${schemaNameExpected}`);
  const place = (flag: string, named: string) => placeOf(flag, named, { schema, requireSync });
  const [source, target] = [place("--from", from), place("--to", to)];
  const progress = { copy: new Progress("tasks copied", !json), check: new Progress("tasks checked", !json) };
  const began = performance.now();
  try {
    const { tasks, ...others } = await migrateYard({
      from: source,
      to: target,
      onProgress: (phase, done, total) => progress[phase].show(done, total === 0 ? 1 : done / total),
    });
    progress.check.clear();
    const ms = Math.round(performance.now() - began);
    if (json) printJson({ tasks, ...others, ms });
    else report({ tasks, ...others }, ms);
    return 0;
  } catch (fault) {
    progress.check.clear();
    if (!(fault instanceof StartFault)) throw fault;
    throw new CommandFault(fault.message, { cause: fault });
  }
}

type Place = { readonly folder: string } | { readonly url: string; schema: string; requireSync: boolean };

function placeOf(flag: string, named: string, settings: { schema: string; requireSync: boolean }): Place {
  if (/^postgres(ql)?:\/\/./.test(named)) return { url: named, ...settings };
  if (named === "memory") {
    throw new UsageFault(
      `${flag}: the memory engine keeps nothing when the dispatcher stops, so there is nothing to move (a folder of that name is ./memory)`,
    );
  }
  if (named === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(named)) {
    throw new UsageFault(`${flag}: ${named}: expected a folder, or postgres://USER@HOST/DATABASE`);
  }
  return { folder: named };
}

function report({ tasks, bodies, bodyBytes, keys, queues, doors, memos }: StoreCounts, ms: number): void {
  const states = Object.entries(tasks).filter(([, tasks]) => tasks > 0);
  const all = states.reduce((sum, [, tasks]) => sum + tasks, 0);
  const named = states.map(([state, tasks]) => `${count(tasks)} ${state}`).join(", ");
  print(`${count(all)} tasks${named === "" ? "" : `: ${named}`}`);
  print(`${count(bodies)} payloads and results, ${(bodyBytes / 1e6).toFixed(1)} MB`);
  print(
    `${count(keys)} keys of ended tasks, ${count(queues)} orders to queues, ${count(doors)} doors, ${count(memos)} records of doors`,
  );
  print(`Everything was read back and is identical. It took ${span(ms)}.`);
  print("Now start the dispatcher with the new engine, and never again with the old store.");
}
