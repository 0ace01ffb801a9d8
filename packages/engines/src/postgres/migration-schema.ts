// The Postgres engine's sides of a migration. The draft of a store is in a schema of its own;
// publishing it moves the tables into the engine's schema in one transaction.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { StoreFault } from "../embedded/store-faults.js";
import type { Engine } from "../engine.js";
import type { Source, Target } from "../migration/places.js";
import type { Marks } from "../migration/reading.js";
import { PostgresEngine, type PostgresEngineOptions } from "./postgres-engine.js";
import { draftSchemaOf, hasTables, lockTables } from "./schema.js";
import { Session } from "./session.js";

export type PostgresPlace = Required<Pick<PostgresEngineOptions, "url" | "schema" | "requireSync">>;

/** Long enough for the server to drop a large draft. */
const callMs = 60_000;
/** A commit of the engine. There is no client that waits for it. */
const commitMs = 10_000;
/** An owner writes its row more often than this. */
const silenceMs = 1000;

export class SchemaSource implements Source {
  readonly name: string;
  readonly engine: Engine;
  readonly #schema: string;
  readonly #session: Session;

  constructor(place: PostgresPlace) {
    this.name = nameOf(place);
    this.#schema = place.schema;
    this.#session = sessionOf(place);
    // It is read, so it does not matter whether the server replicates.
    this.engine = new PostgresEngine({ ...place, requireSync: false, commitMs });
  }

  /** Opening the engine would take the database over from a dispatcher that runs. */
  async check(): Promise<void> {
    const session = this.#session;
    if (!(await session.use((query) => hasTables(query, this.#schema)))) {
      throw new StoreFault("failed", `There is no store in ${this.name}`);
    }
    const { signs, instance } = await this.#owner();
    const text = "select pid from pg_stat_activity where application_name = $1 and $1 <> ''";
    const { count } = await session.query({ text, values: [instance] });
    if (count === 0) {
      await pause(silenceMs);
      if ((await this.#owner()).signs === signs) return;
    }
    throw new StoreFault("in-use", `A dispatcher uses ${this.name} (stop it first)`);
  }

  /** Only columns of the first version of the tables: the engine has not updated them yet. */
  async #owner(): Promise<{ readonly instance: string; readonly signs: string }> {
    const text = "select instance, concat_ws(' ', epoch, position, beat) as signs from owner";
    const { rows } = await this.#session.query<{ instance: string; signs: string }>(text);
    return rows[0] ?? { instance: "", signs: "" };
  }

  /** A row that cannot be read is an error of the server, or of the reader. */
  checkRead(): void {}

  async close(): Promise<void> {
    await this.engine.close();
    await this.#session.close();
  }
}

export class SchemaTarget implements Target {
  readonly name: string;
  readonly #place: PostgresPlace;
  readonly #draft: string;
  readonly #session: Session;

  constructor(place: PostgresPlace) {
    this.name = nameOf(place);
    this.#place = place;
    this.#draft = draftSchemaOf(place.schema);
    this.#session = sessionOf(place);
  }

  async begin(): Promise<void> {
    await this.#session.use(async (query) => {
      if (await hasTables(query, this.#place.schema)) throw this.#isTaken();
      const lock = `select pg_try_advisory_lock(hashtext('yardmaster migration ${this.#place.schema}')) as locked`;
      const { rows } = await query<{ locked: boolean }>(lock);
      if (rows[0]?.locked !== true) {
        throw new StoreFault("in-use", `Another migration writes into ${this.name} (wait for its end)`);
      }
      await query(`drop schema if exists ${this.#draft} cascade`);
      // From here on no dispatcher starts in the engine's schema.
      await query(`create schema ${this.#draft}`);
    });
  }

  engine(): Engine {
    return new PostgresEngine({ ...this.#place, schema: this.#draft, commitMs });
  }

  async raise({ epoch, lastTask, lanes }: Marks & { readonly epoch: number }): Promise<void> {
    await this.#session.transaction("begin", async (query) => {
      const owner = `update ${this.#draft}.owner set epoch = greatest(epoch, $1)`;
      await query({ text: owner, values: [epoch] });
      const fold = `update ${this.#draft}.fold set last_task = greatest(last_task, $1), lanes = $2`;
      await query({ text: fold, values: [lastTask, JSON.stringify(lanes)] });
    });
  }

  async publish(): Promise<void> {
    const { schema } = this.#place;
    await this.#session.transaction("begin", async (query) => {
      await lockTables(query, schema);
      if (await hasTables(query, schema)) throw this.#isTaken();
      await query(`create schema if not exists ${schema}`);
      const text = `select tablename as name from pg_tables where schemaname = '${this.#draft}'`;
      const { rows } = await query<{ name: string }>(text);
      for (const { name } of rows) await query(`alter table ${this.#draft}.${name} set schema ${schema}`);
      await query(`drop schema ${this.#draft}`);
    });
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  #isTaken(): StoreFault {
    const { schema } = this.#place;
    return new StoreFault(
      "failed",
      `There is a store in ${this.name} already (name another schema, or drop the schema ${schema} if it is not needed)`,
    );
  }
}

/** Without the password that the URL may have. */
function nameOf({ url, schema }: PostgresPlace): string {
  return `the schema ${schema} of ${url.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, "$1@")}`;
}

function sessionOf({ url, schema }: PostgresPlace): Session {
  const instance = `yardmaster-migrate/${randomUUID()}`;
  return new Session({ url, schema, instance, settings: "set synchronous_commit = on" }, callMs);
}
