// The engine that keeps everything in a Postgres database, which replicates it. A commit is one row
// of the log, written together with the check that this dispatcher still owns the database. A
// thread folds the log into tables, and reads answer from the tables and the tail.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Body, StoredTask, TaskId } from "@yardmaster/core";
import { BatchEncoder } from "../durable/batch-encoder.js";
import { Batch as EncodedBatch } from "../durable/batches.js";
import { Tail } from "../durable/tail.js";
import { TailReads } from "../durable/tail-reads.js";
import { StoreFault } from "../embedded/store-faults.js";
import type {
  Batch,
  BodyPart,
  CommitOutcome,
  Engine,
  LoadItem,
  Opened,
  TaskPage,
  TaskQuery,
} from "../engine.js";
import { pause } from "./clock.js";
import type { FoldState } from "./fold.js";
import { FoldFeed } from "./fold-feed.js";
import { Deposed, Folder } from "./folder.js";
import { claim, endSessions, LogTable, type OwnerRow, readOwner } from "./log-table.js";
import { type ClusterOptions, Member } from "./member.js";
import type { Mirror } from "./mirror.js";
import { lookUp, MirrorFeed } from "./mirror-feed.js";
import { durabilityOf, migrate } from "./schema.js";
import { type Platform, Session, serversIn, systemPlatform, Unavailable } from "./session.js";
import { partNumbers, pieceBytes, TableReads } from "./table-reads.js";

export interface PostgresEngineOptions {
  /** May name several servers, separated by commas; the one that accepts writes is used. */
  readonly url: string;
  /** The schema that holds the tables. Made if it is not there. */
  readonly schema?: string;
  /** Time limit of one call of a commit, in milliseconds. */
  readonly commitMs?: number;
  /** Refuses a server that does not replicate synchronously. */
  readonly requireSync?: boolean;
  /** Something that an operator wants to know, and that the engine tries again by itself. */
  readonly onNotice?: (what: string) => void;
  /** Waits as a standby until it is this dispatcher's turn. Without it, opening takes over. */
  readonly cluster?: ClusterOptions | undefined;
  /** Another dispatcher has claimed the database: only with `cluster`, and only once loaded. */
  readonly onDeposed?: (fault: Error) => void;
  /** Folds at once and in the caller's thread: for tests. */
  readonly isLocal?: boolean;
  /** Time and connections of a simulator. */
  readonly platform?: Platform;
}

/** Opening makes tables, and waits for locks of those who have them. */
const openMs = 15_000;
const readMs = 10_000;

/**
 * Without statistics the planner would read whole tables. Its switches make plans look expensive,
 * and for those the server would compile every statement (`jit`), which takes 0.1 s or more.
 * `synchronous_commit` is raised only: a server that waits until the standby has applied a commit
 * keeps doing so.
 */
const settings = `set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;
  set enable_bitmapscan = off; set jit = off; set idle_in_transaction_session_timeout = 10000;
  select set_config('synchronous_commit', case current_setting('synchronous_commit')
    when 'remote_apply' then 'remote_apply' else 'on' end, false)`;

/** What exists while the engine is open. */
interface OpenParts {
  readonly owner: OwnerRow;
  readonly log: LogTable;
  readonly tail: Tail;
  readonly feed: FoldFeed;
  readonly tables: TableReads;
  readonly reads: TailReads;
}

export class PostgresEngine implements Engine {
  readonly name = "postgres";
  readonly inlineBytesMax = 4096;
  /** A commit costs about half a millisecond over the network, whatever is in it. */
  readonly minBatchIntervalMs = 3;
  /** A new primary is found soon, and a dispatcher outlives a restart of its database. */
  readonly retry = { everyMs: 200, forMs: 60_000 } as const;
  readonly #options: PostgresEngineOptions;
  readonly #schema: string;
  readonly #instance = `yardmaster/${randomUUID()}`;
  readonly #commitMs: number;
  readonly #commits: Session;
  readonly #sessions: readonly Session[];
  /** Present if there are several dispatchers. */
  readonly member: Member | undefined;
  /** Follows the log while this dispatcher is a standby. */
  readonly #mirrored: MirrorFeed | undefined;
  readonly #encoder = new BatchEncoder(this.inlineBytesMax, { before: 0, after: 0 });
  #durability: "fsync" | "replicated";
  #parts: OpenParts | undefined;
  /** What a standby had when it took over, until it is loaded. */
  #mirror: Mirror | undefined;
  #lastBatch = 0;
  /** Set for good when another owner was seen, or that the database has gone back. */
  #lost: CommitOutcome | undefined;
  #isLoaded = false;

  constructor(options: PostgresEngineOptions) {
    const { url, schema = "yardmaster", commitMs = 1000, requireSync = true, platform } = options;
    this.#options = options;
    this.#schema = schema;
    this.#durability = requireSync ? "replicated" : "fsync";
    const place = { url, urls: serversIn(url), schema, instance: this.#instance, platform };
    this.#commitMs = commitMs;
    this.#commits = new Session({ ...place, settings }, commitMs);
    const readers = [0, 1].map(() => new Session({ ...place, settings }, readMs));
    this.#sessions = [this.#commits, ...readers];
    const [reader, notes] = readers as [Session, Session];
    const onNotice = (what: string) => options.onNotice?.(what);
    if (options.cluster === undefined) return;
    const mirrored = new MirrorFeed(reader, () => new Session({ ...place, settings }, readMs), onNotice);
    this.#mirrored = mirrored;
    const follow = ({ safe }: OwnerRow) => mirrored.follow(safe);
    const parts = { instance: this.#instance, session: this.#commits, notes, onNotice, follow };
    this.member = new Member(options.cluster, parts);
  }

  get durability(): "fsync" | "replicated" {
    return this.#durability;
  }

  /** True if another dispatcher has claimed the database since this one did. */
  get isDeposed(): boolean {
    return this.#lost?.type === "fenced";
  }

  /** True if the database has lost what was acknowledged. */
  get hasRegressed(): boolean {
    return this.#lost?.type === "regressed";
  }

  async open(): Promise<Opened> {
    assert.equal(this.#parts, undefined, "the engine is open already");
    const { url, requireSync = true } = this.#options;
    const session = this.#commits;
    session.limitMs = openMs;
    try {
      this.#durability = await session.use((query) => durabilityOf(query, requireSync));
      await session.transaction("begin", (query) => migrate(query, this.#schema));
      session.limitMs = this.#commitMs;
      const owner = await (this.member?.claimInTurn() ?? this.#claim(session));
      const { epoch, position } = owner;
      const log = new LogTable(session, owner);
      this.member?.lead(log, (outcome) => this.#lose(outcome, true));
      this.#mirror = await this.#mirrored?.finish(position);
      // What earlier owners left in the log. The session of commits is free for beats.
      const [reader] = this.#sessions.slice(1) as [Session];
      const folder = new Folder({ url, schema: this.#schema, instance: this.#instance, epoch }, reader);
      const folded = await folder.fold(position);
      await removeLooseBodies(reader, epoch);
      this.#parts = this.#begin(owner, log, folded);
      return { epoch };
    } catch (error) {
      await this.close();
      if (!(error instanceof Deposed)) throw error;
      throw new StoreFault("failed", `Another dispatcher took the database over: ${error.message}`, error);
    }
  }

  async load(take: (item: LoadItem) => void): Promise<void> {
    const { feed, log, tables } = this.#opened();
    await feed.flush();
    const mirror = this.#mirror;
    this.#mirror = undefined;
    if (mirror === undefined) await tables.loadLive(take);
    else {
      await lookUp(mirror, tables);
      for (const page of mirror.pages()) {
        for (const item of page) take(item);
        // Beats go out between two pages, or another standby would claim during a long load.
        await pause(this.#commits.clock, 0);
      }
    }
    await tables.loadHistory(take);
    // A later owner may have changed the tables between two pages. A write that still counts after
    // the last page proves that there was none.
    await this.#commits.patiently(async () => {
      const outcome = await log.beat();
      if (outcome.type === "fenced" || outcome.type === "regressed") this.#lose(outcome, false);
      else if (outcome.type !== "done") throw new Unavailable(outcome.message);
    });
    if (this.#lost !== undefined) throw new StoreFault("failed", lossOf(this.#lost));
    this.#isLoaded = true;
  }

  async commit({ epoch, number, changes }: Batch): Promise<CommitOutcome> {
    const { owner, log, tail, feed } = this.#opened();
    assert.equal(epoch, owner.epoch, "the batch is of another epoch than the engine's");
    if (this.#lost !== undefined) return this.#lost;
    if (number <= this.#lastBatch) return { type: "done" };
    assert.equal(number, this.#lastBatch + 1, "a batch number was left out");
    if (feed.isBehind) return { type: "unavailable", message: "the log is too far ahead of the tables" };
    const encoded = this.#encoder.encode(changes);
    // The encoder's memory is used again, and the tail keeps the batch until it is folded.
    const bytes = Buffer.from(encoded.bytes.subarray(encoded.start, encoded.end));
    const position = owner.position + number;
    const startedAt = this.#commits.clock.now();
    const outcome = await log.append(position, bytes);
    if (outcome.type !== "done") {
      // All connections move to a new primary together.
      for (const session of this.#sessions) if (session !== this.#commits) session.drop();
      if (outcome.type === "fenced" || outcome.type === "regressed") this.#lose(outcome, false);
      return outcome;
    }
    this.member?.proved(startedAt, position);
    this.#lastBatch = number;
    const batch = new EncodedBatch(position, { bytes, start: 0, end: bytes.length });
    tail.add(batch, encoded.lastTask);
    feed.add(batch);
    return outcome;
  }

  /** Each piece is replicated: a new primary must have it before a record refers to it. */
  async putBody(task: TaskId, part: BodyPart, { bytes, size }: Body): Promise<void> {
    const { epoch } = this.#opened().owner;
    assert.ok(bytes !== undefined && bytes.length === size, "a body is put with all its bytes");
    const text = `with own as (select epoch from owner where epoch = $4 for share)
      insert into bodies (task, part, piece, epoch, bytes) select $1, $2, $3, epoch, $5 from own
      on conflict (task, part, piece) do update set epoch = excluded.epoch, bytes = excluded.bytes`;
    const [session] = this.#sessions.slice(1) as [Session];
    for (let from = 0, piece = 0; from < size; from += pieceBytes, piece++) {
      const values = [task, partNumbers[part], piece, epoch, bytes.subarray(from, from + pieceBytes)];
      await session.patiently(async () => {
        const { isDoubtful } = await session.query({ text, name: "put-body", values });
        if (isDoubtful) throw new Unavailable("the server did not wait for its standby");
      });
    }
  }

  async dropBody(task: TaskId, part: BodyPart): Promise<void> {
    const { epoch } = this.#opened().owner;
    const text = `with own as (select epoch from owner where epoch = $3 for share)
      delete from bodies using own where task = $1 and part = $2`;
    const [session] = this.#sessions.slice(1) as [Session];
    await session.patiently(() => session.query({ text, values: [task, partNumbers[part], epoch] }));
  }

  async body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    return this.#opened().reads.body(task, part);
  }

  async memo(door: string, name: string): Promise<Uint8Array | undefined> {
    return this.#opened().reads.memo(door, name);
  }

  async whenCaughtUp(): Promise<void> {
    await this.#parts?.feed.flush();
  }

  async task(id: TaskId): Promise<StoredTask | undefined> {
    return this.#opened().reads.task(id);
  }

  async find(query: TaskQuery): Promise<TaskPage> {
    assert.ok(query.limit >= 1, "a page has room for at least one task");
    return this.#opened().reads.find(query);
  }

  /**
   * The log is folded by the next owner, or by this one if there is time. A standby may claim at
   * once.
   */
  async close(): Promise<void> {
    const parts = this.#parts;
    this.#parts = undefined;
    await this.member?.stepDown();
    await this.#mirrored?.close();
    await parts?.feed.close();
    await Promise.all(this.#sessions.map((session) => session.close()));
  }

  async #claim(session: Session): Promise<OwnerRow> {
    for (;;) {
      const seen = await readOwner(session);
      const owner = await claim(session, seen, { instance: this.#instance });
      if (owner === undefined) continue;
      if (seen.instance !== "") await endSessions(session, seen.instance, owner);
      return owner;
    }
  }

  /** `isNews`: no commit returns it. */
  #lose(outcome: CommitOutcome, isNews: boolean): void {
    if (this.#lost !== undefined) return;
    this.#lost = outcome;
    this.member?.end();
    if (isNews && this.#isLoaded) this.#options.onDeposed?.(new Error(lossOf(outcome)));
  }

  #begin(owner: OwnerRow, log: LogTable, { lastTask, position }: FoldState): OpenParts {
    const { url, isLocal = false, platform = systemPlatform, onNotice } = this.#options;
    const { epoch } = owner;
    const tail = new Tail(lastTask);
    const [tasks, searches] = this.#sessions.slice(1) as [Session, Session];
    const tables = new TableReads(tasks, searches);
    const feed = new FoldFeed(
      {
        folder: { url, schema: this.#schema, instance: this.#instance, epoch },
        isLocal,
        platform,
        onFolded: (folded) => tail.stored(folded),
        onTrouble: (message) => onNotice?.(`The log cannot be folded yet: ${message}`),
      },
      position,
    );
    const reads = new TailReads(tail, tables, (through) => feed.refold(through));
    return { owner, log, tail, feed, tables, reads };
  }

  #opened(): OpenParts {
    if (this.#parts === undefined) throw new Unavailable("the engine is closed");
    return this.#parts;
  }
}

function lossOf(outcome: CommitOutcome): string {
  const why = "message" in outcome ? outcome.message : "";
  return outcome.type === "regressed"
    ? `The database has lost what was acknowledged, and must not be used: ${why}`
    : `Another dispatcher has taken the database over: ${why}`;
}

/** Bodies that an earlier owner put, and to whose task no record refers. */
async function removeLooseBodies(session: Session, epoch: number): Promise<void> {
  const text = `delete from bodies b where epoch < $1
    and not exists (select 1 from tasks t where t.id = b.task)`;
  await session.query({ text, values: [epoch] });
}
