// Reads groups of batches from the log and folds them into the tables. Only the owner folds. A
// second folder would wait for the fold row, and then find that the work is done.

import { Fifo } from "@yardmaster/core";
import { Batch } from "../durable/batches.js";
import { Fold, type FoldState } from "./fold.js";
import { type Platform, type Query, Session } from "./session.js";

/** Another dispatcher owns the database. */
export class Deposed extends Error {
  override readonly name = "Deposed";
}

export interface FolderOptions {
  readonly url: string;
  readonly schema: string;
  readonly instance: string;
  readonly epoch: number;
}

/** A group is many commits, so that a task that ends soon is written once. */
const batchesMax = 4096;
export const groupBytesMax = 8 * 2 ** 20;
/** Batches stay in the log for this time after they were folded, for standbys that follow it. */
const keptMs = 2000;
/** A fold is not urgent, and a large one on a slow disk takes a while. */
const limitMs = 30_000;

/**
 * Nothing waits for a fold to be on the disk: if the server loses one, it still has the batches.
 * Without statistics the planner would read whole tables, so its switches are set. These make plans
 * look expensive, and the server would compile them each time, which takes 0.1 s or more. So `jit`
 * is off too.
 */
const settings = `set synchronous_commit = off; set lock_timeout = 5000;
  set idle_in_transaction_session_timeout = 10000;
  set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;
  set enable_bitmapscan = off; set plan_cache_mode = force_generic_plan; set jit = off`;

interface FoldRow {
  readonly position: number;
  readonly last_task: number;
  readonly lanes: string;
  readonly trimmed: string;
  readonly epoch: number;
}

export class Folder {
  readonly #session: Session;
  readonly #epoch: number;
  /** Ends of folds whose batches are still in the log. */
  readonly #kept = new Fifo<{ readonly position: number; readonly at: number }>();

  /** Uses this session, or makes its own. */
  constructor({ epoch, ...place }: FolderOptions, by?: Session | Platform) {
    this.#session = by instanceof Session ? by : new Session({ ...place, settings, platform: by }, limitMs);
    this.#epoch = epoch;
  }

  /**
   * Folds until the tables have this batch, which must be replicated. A later one that is in the
   * log may still be lost, and is not shown to readers before it is acknowledged. `batches`: those
   * up to it, so that they need not be read from the log, if the tables have all before them.
   */
  async fold(through: number, batches: readonly Batch[] = []): Promise<FoldState> {
    for (;;) {
      const state = await this.#foldGroup(through, batches);
      this.#kept.push({ position: state.position, at: this.#session.clock.now() });
      if (state.position >= through) return state;
    }
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  #foldGroup(through: number, batches: readonly Batch[]): Promise<FoldState> {
    return this.#session.transaction("begin", async (query) => {
      const { rows } = await query<FoldRow>(
        "select f.position, last_task, lanes, trimmed, epoch from fold f, owner for update of f",
      );
      const row = rows[0] as FoldRow;
      if (row.epoch !== this.#epoch) throw new Deposed(`epoch ${row.epoch} has the database`);
      const lanes = JSON.parse(row.lanes) as number[];
      const trimmed = JSON.parse(row.trimmed) as number[];
      const state: FoldState = { position: row.position, lastTask: row.last_task, lanes, trimmed };
      const isNext = batches[0]?.number === state.position + 1;
      const group = isNext ? batches : await readLog(query, state.position, through);
      if (group.length === 0) return state;
      await new Fold(query, state).apply(group);
      const text = "update fold set position = $1, last_task = $2, lanes = $3, trimmed = $4";
      const values = [state.position, state.lastTask, JSON.stringify(lanes), JSON.stringify(trimmed)];
      await query({ text, values });
      await this.#trim(query, state.position);
      return state;
    });
  }

  /** `position`: the last batch that the tables have. A new primary may lack the last folds. */
  async #trim(query: Query, position: number): Promise<void> {
    let trimmed: number | undefined;
    for (let first = this.#kept.first(); first && first.at < this.#session.clock.now() - keptMs; ) {
      trimmed = first.position;
      this.#kept.shift();
      first = this.#kept.first();
    }
    if (trimmed === undefined) return;
    const text = "delete from log where position <= $1";
    await query({ text, values: [Math.min(trimmed, position)] });
  }
}

/** A group of batches after this one, and not after `through`. */
export async function readLog(query: Query, after: number, through: number): Promise<readonly Batch[]> {
  const { rows } = await query<{ position: number; bytes: Buffer }>({
    text: `select position, bytes from (
        select position, bytes, sum(octet_length(bytes)) over (order by position) - octet_length(bytes) as before
        from log where position > $1 and position <= $2 order by position limit ${batchesMax}) l
      where before < ${groupBytesMax} order by position`,
    name: "group",
    values: [after, through],
  });
  return rows.map(({ position, bytes }) => new Batch(position, { bytes, start: 0, end: bytes.length }));
}
