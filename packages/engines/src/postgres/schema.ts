// The tables, and the way from one version of them to the next. A schema holds one shard, so the
// tables do not mention shards.
//
// - `owner` is one row: who owns the yard, and how far the log goes. Every commit updates it.
// - `log` holds committed batches that the tables below do not have yet.
// - `fold` is one row: how far the log was folded into the tables. Folds lock it, never `owner`.
// - `bundles` holds most tasks, and `tasks` those that do not fit into a bundle.
// - `nodes` lists the dispatchers for operators.

import { StoreFault } from "../embedded/store-faults.js";
import type { Query } from "./session.js";

/**
 * Each step leads from the version that is its index to the next. Released steps never change. A
 * standby of a newer version may take one while an owner of the version before works on, so a step
 * must leave that version's statements valid.
 */
const steps: readonly string[] = [
  `create table owner (
     one int primary key check (one = 1), version int not null,
     epoch bigint not null, start bigint not null, position bigint not null, beat bigint not null,
     instance text not null, node text, address text
   ) with (fillfactor = 10);
   create table log (position bigint primary key, bytes bytea not null);
   create table fold (
     one int primary key check (one = 1),
     position bigint not null, last_task bigint not null, lanes text not null
   ) with (fillfactor = 10);
   create table tasks (
     id bigint primary key, settled bigint not null, submitted bigint not null,
     finished bigint not null, size bigint not null, result_size bigint not null,
     queue text not null, door text not null, state text not null, worker text, key text,
     failed boolean not null, apart boolean not null, head bytea not null, progress bytea
   );
   create index tasks_live on tasks (id) where settled = 0;
   create index tasks_settled on tasks (settled) where settled > 0;
   create table items (
     kind int not null, name text collate "C" not null, task bigint not null, bytes bytea not null,
     primary key (kind, name)
   );
   create table bodies (
     task bigint not null, part int not null, piece int not null, epoch bigint not null,
     bytes bytea not null, primary key (task, part, piece)
   );
   alter table log alter bytes set storage external;
   alter table tasks alter head set storage external, alter progress set storage external;
   alter table items alter bytes set storage external;
   alter table bodies alter bytes set storage external;
   alter table log set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
   insert into owner values (1, 0, 0, 0, 0, 0, '');
   insert into fold values (1, 0, 0, '[0]')`,
  `alter table owner add column safe bigint not null default 0;
   create table nodes (
     node text primary key, instance text not null, address text, position bigint not null,
     seen timestamptz not null
   )`,
  `alter table fold add column trimmed text not null default '[0]';
   create table bundles (
     first bigint primary key, last bigint not null, place bigint not null,
     since bigint not null, until bigint not null, failed boolean not null,
     terms text not null, sums bigint[] not null, bytes bytea not null
   ) with (toast_tuple_target = 8160);
   create index bundles_live on bundles (first) where place = 0;
   create index bundles_place on bundles (place) where place > 0;
   alter table bundles alter terms set storage external, alter sums set storage external,
     alter bytes set storage external`,
];

export const schemaVersion = steps.length;

/** The schema in which a migration from another engine writes until it is complete. */
export function draftSchemaOf(schema: string): string {
  return `${schema}_migrating`;
}

/** Waits until no other dispatcher makes or moves the tables, until the transaction ends. */
export async function lockTables(query: Query, schema: string): Promise<void> {
  await query(`select pg_advisory_xact_lock(hashtext('yardmaster ${schema}'))::text as locked`);
}

export async function hasSchema(query: Query, schema: string): Promise<boolean> {
  return (await query(`select 1 from pg_namespace where nspname = '${schema}'`)).count > 0;
}

export async function hasTables(query: Query, schema: string): Promise<boolean> {
  const text = `select 1 from pg_tables where schemaname = '${schema}' and tablename = 'owner'`;
  return (await query(text)).count > 0;
}

/** Makes the tables, or brings them up to date. Runs in a transaction. */
export async function migrate(query: Query, schema: string): Promise<void> {
  // Two dispatchers may start at the same moment.
  await lockTables(query, schema);
  if (!(await hasSchema(query, schema))) await query(`create schema ${schema}`);
  let version = 0;
  if (!(await hasTables(query, schema))) {
    const draft = draftSchemaOf(schema);
    if (await hasSchema(query, draft)) {
      throw new StoreFault(
        "failed",
        `A migration into the schema ${schema} did not finish (run yardmaster migrate again, or drop the schema ${draft} to begin without it)`,
      );
    }
  } else {
    const { rows } = await query<{ version: number }>("select version from owner");
    version = rows[0]?.version ?? 0;
  }
  if (version > schemaVersion) {
    throw new StoreFault(
      "too-new",
      `The schema ${schema} has version ${version}, and this program knows ${schemaVersion} (use the newer yardmaster)`,
    );
  }
  for (const step of steps.slice(version)) await query(step);
  if (version < schemaVersion) await query(`update owner set version = ${schemaVersion}`);
}

/**
 * Refuses a server on which a commit could be lost although it was acknowledged. Returns what a
 * commit survives.
 */
export async function durabilityOf(query: Query, requireSync: boolean): Promise<"fsync" | "replicated"> {
  const { rows } = await query<{ names: string; sync: string; fsync: string }>(
    `select current_setting('synchronous_standby_names') as names, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as sync`,
  );
  const { names = "", sync = "", fsync = "" } = rows[0] ?? {};
  const isSync = names.trim() !== "" && (sync === "on" || sync === "remote_apply");
  if (!requireSync) return isSync && fsync === "on" ? "replicated" : "fsync";
  const wrong = !isSync
    ? `synchronous_standby_names is ${JSON.stringify(names)} and synchronous_commit is ${sync}, so a commit may be only on this server`
    : fsync !== "on" && "fsync is off on the server";
  if (wrong === false) return "replicated";
  throw new StoreFault(
    "failed",
    `Postgres does not replicate commits: ${wrong} (set up a synchronous standby, or set postgres.requireSync to false)`,
  );
}
