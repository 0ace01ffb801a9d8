// Keeps a standby's mirror up to date: reads the tables once, and from then on the log. The owner
// leaves a batch in the log for a while after it was folded. A standby that falls behind further
// than that reads the tables again.
//
// Only acknowledged batches are followed, because others may be gone after a change of the primary.

import type { Batch } from "../durable/batches.js";
import { readLog } from "./folder.js";
import { Mirror } from "./mirror.js";
import { type Query, type Session, Unavailable } from "./session.js";
import { loadLive, TableReads } from "./table-reads.js";

/** After a failure the tables are not read again for this time. */
const againMs = 1000;
/** Batches that come while the tables are read wait in memory. */
const waitingBytesMax = 64 * 2 ** 20;
const lookedUpAtOnce = 1024;

export class MirrorFeed {
  readonly #session: Session;
  readonly #newSession: () => Session;
  readonly #onNotice: (what: string) => void;
  readonly #lookups: TableReads;
  #mirror: Mirror | undefined;
  /** Reads the tables at this moment. */
  #tables: Session | undefined;
  /** Batches for a mirror that is not there yet. */
  #waiting: Batch[] = [];
  #waitingBytes = 0;
  /** The last batch that was read from the log. */
  #read = 0;
  #wanted = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | undefined;
  #isOver = false;

  /** `newSession`: makes the connection over which the tables are read, which takes long. */
  constructor(session: Session, newSession: () => Session, onNotice: (what: string) => void) {
    this.#session = session;
    this.#newSession = newSession;
    this.#onNotice = onNotice;
    this.#lookups = new TableReads(session, session);
  }

  /** Reads in the background until the mirror has this batch. Returns the last that it has. */
  follow(through: number): number {
    this.#wanted = Math.max(this.#wanted, through);
    if (!this.#isOver) this.#turn ??= this.#advance();
    return this.#mirror?.position ?? 0;
  }

  /** The mirror with everything up to this batch; undefined if there is none. */
  async finish(position: number): Promise<Mirror | undefined> {
    this.#isOver = true;
    // It may wait for a server that is the primary no more.
    if (this.#turn !== undefined) this.#session.drop();
    await this.#turn;
    this.#wanted = position;
    if (this.#mirror !== undefined) await this.#advance();
    const mirror = this.#mirror;
    this.#forget();
    return mirror?.position === position ? mirror : undefined;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#forget();
    await this.#turn;
  }

  async #advance(): Promise<void> {
    try {
      if (this.#mirror === undefined && this.#tables === undefined) await this.#start();
      await this.#readLog();
      if (this.#mirror !== undefined && !this.#isOver) await lookUp(this.#mirror, this.#lookups);
    } catch (error) {
      this.#failed(error as Error);
    }
    this.#turn = undefined;
  }

  async #start(): Promise<void> {
    if (this.#session.clock.now() < this.#notBefore) return;
    const { rows } = await this.#session.query<FoldRow>("select position, last_task from fold");
    // The snapshot that is read below is at least as new as this.
    this.#read = rows[0]?.position ?? 0;
    if (this.#isOver) return;
    this.#tables = this.#newSession();
    void this.#readTables(this.#tables);
  }

  async #readTables(session: Session): Promise<void> {
    try {
      const mirror = await session.transaction("begin isolation level repeatable read read only", mirrorOf);
      if (this.#tables !== session) return;
      this.#tables = undefined;
      this.#mirror = mirror;
      this.#pass(this.#waiting.splice(0));
    } catch (error) {
      if (this.#tables === session) this.#failed(error as Error, true);
    } finally {
      await session.close();
    }
  }

  async #readLog(): Promise<void> {
    const query: Query = (statement) => this.#session.query(statement);
    while (this.#read < this.#wanted && (this.#mirror ?? this.#tables) !== undefined) {
      const batches = await readLog(query, this.#read, this.#wanted);
      if (batches[0]?.number !== this.#read + 1) return this.#forget();
      this.#read = batches.at(-1)?.number ?? this.#read;
      this.#pass(batches);
    }
  }

  #pass(batches: readonly Batch[]): void {
    const mirror = this.#mirror;
    if (mirror === undefined) {
      this.#waiting.push(...batches);
      for (const { start, end } of batches) this.#waitingBytes += end - start;
      if (this.#waitingBytes > waitingBytesMax) this.#forget();
      return;
    }
    const next = batches.filter(({ number }) => number > mirror.position);
    if (next[0] !== undefined && next[0].number !== mirror.position + 1) this.#forget();
    else mirror.apply(next);
  }

  /** `isFinal`: the next look does not continue it. */
  #failed(error: Error, isFinal = false): void {
    const isPassing = error instanceof Unavailable;
    if (!isPassing) this.#onNotice(`The standby cannot mirror the yard: ${error.message}`);
    if (!isPassing || isFinal) this.#forget();
  }

  #forget(): void {
    this.#tables?.drop();
    this.#tables = undefined;
    this.#mirror = undefined;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#notBefore = this.#session.clock.now() + againMs;
  }
}

interface FoldRow {
  readonly position: number;
  readonly last_task: number;
}

async function mirrorOf(query: Query): Promise<Mirror> {
  const { rows } = await query<FoldRow>("select position, last_task from fold");
  const mirror = new Mirror(rows[0]?.position ?? 0, rows[0]?.last_task ?? 0);
  await loadLive(query, (item) => mirror.take(item));
  return mirror;
}

/** Asks the tables for what a mirror cannot know, as far as they have it. */
export async function lookUp(mirror: Mirror, tables: Pick<TableReads, "tasks">): Promise<void> {
  for (;;) {
    const ids = mirror.unsure(lookedUpAtOnce);
    if (ids.length === 0) return;
    const { tasks, through } = await tables.tasks(ids);
    if (!mirror.lookedUp(ids, tasks, through)) return;
  }
}
