// The engine that keeps everything in one folder. A commit is one synced write to the journal. An
// LMDB file, the store, takes batches over from there; a thread of its own works on it
// (store-thread.ts). This file opens and closes the parts, encodes batches and awaits answers.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Body, StoredTask, TaskId } from "@yardmaster/core";
import { CursorMismatch } from "../cursor.js";
import { BatchEncoder } from "../durable/batch-encoder.js";
import { Tail } from "../durable/tail.js";
import { type StoreReads, TailReads } from "../durable/tail-reads.js";
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
import { bytesIn, takePart, tasksIn } from "./answered-tasks.js";
import { BodyFeed } from "./body-feed.js";
import { DiskRoom } from "./disk-room.js";
import { lastTransactionOf } from "./file-roots.js";
import { type FolderOwner, takeFolder } from "./folder-owner.js";
import { Journal } from "./journal.js";
import { entryHeaderBytes, entryUnit, sealEntry } from "./journal-form.js";
import { makePrivateFolder } from "./private-folder.js";
import { checkRecords, type RecordCheck } from "./record-check.js";
import { outcomeOf, StoreFault, storeFault } from "./store-faults.js";
import { StoreFeed } from "./store-feed.js";
import { draftFolderName, storeFileName } from "./store-file.js";
import { StoreFailure, StoreLink } from "./store-link.js";
import type { Answer } from "./store-messages.js";
import { StoreWatch } from "./store-watch.js";

/**
 * Maximum time to open the store. Even a large file takes seconds. Opening waits for LMDB's lock,
 * and a process that was stopped inside a transaction never releases that.
 */
const openMsMax = 60_000;

export interface EmbeddedEngineOptions {
  /** Created if it does not exist. */
  readonly folder: string;
  /** `memory`: commits are not forced to the disk. They survive the process, not the machine. */
  readonly durability?: "fsync" | "memory";
  /** Size of the reserve that is released when the disk is full; 0, the default, for none. */
  readonly reserveBytes?: number;
  /** Called when a damaged record was read. It is left out of answers. */
  readonly onDamage?: (what: string) => void;
  /** Called with something an operator should know but need not act on. */
  readonly onNotice?: (what: string) => void;
  /**
   * Called when the disk is full, with the reason why no new tasks must be accepted, and with
   * undefined when there is room again.
   */
  readonly onShortage?: (shortage: string | undefined) => void;
  /** Called when a fault that rules out further commits is found while no commit is under way. */
  readonly onFault?: (fault: Error) => void;
  /** For tests: the store runs in the caller's thread. */
  readonly isLocal?: boolean;
  /** For tests: how many bytes of batches gather before they are sent to the store. */
  readonly gatherBytes?: number;
}

/** What an open engine consists of; none of it while the engine is closed. */
interface OpenParts {
  owner?: FolderOwner;
  link?: StoreLink;
  check?: RecordCheck;
  journal?: Journal;
  feed?: StoreFeed;
  reads?: TailReads;
  watch?: StoreWatch;
  room?: DiskRoom;
}

export class EmbeddedEngine implements Engine {
  readonly name = "embedded";
  readonly durability: "fsync" | "memory";
  /**
   * Larger bodies would not fit well into LMDB's pages, nor into memory while a million tasks wait.
   */
  readonly inlineBytesMax = 4096;
  /**
   * A synced write costs about 0.2 ms of CPU regardless of size, so this limits its cost to 7 %.
   */
  readonly minBatchIntervalMs = 3;
  readonly #options: EmbeddedEngineOptions;
  #parts: OpenParts = {};
  /** 0 while the engine is not open. */
  #epoch = 0;
  /** The fault after which no commit can be trusted any more; undefined while there is none. */
  #broken: unknown;
  #lastBatch = 0;
  /** One encoder is enough, because one batch is under way at a time. */
  readonly #encoder = new BatchEncoder(this.inlineBytesMax, { before: entryHeaderBytes, after: entryUnit });

  readonly #bodies = new BodyFeed((stretches, transferred) =>
    this.#ask({ op: "put-bodies", stretches }, transferred),
  );

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
    this.durability = options.durability ?? "fsync";
  }

  async open(): Promise<Opened> {
    assert.equal(this.#parts.link, undefined, "the engine is open already");
    const { folder, reserveBytes = 0 } = this.#options;
    try {
      const tightened = makePrivateFolder(folder);
      if (tightened.length > 0)
        this.#options.onNotice?.(`Other users could read ${tightened.join(", ")}; this was changed.`);
      this.#parts.room = new DiskRoom({
        folder,
        reserveBytes,
        onChange: (shortage) => this.#options.onShortage?.(shortage),
      });
      this.#parts.room.begin();
      return await this.#openWithRoom(this.#parts.room);
    } catch (error) {
      await this.#giveUp(false);
      throw storeFault(error, folder);
    }
  }

  /** Tries a second time if the disk was full and there is a reserve to release. */
  async #openWithRoom(room: DiskRoom): Promise<Opened> {
    try {
      return await this.#openStore();
    } catch (error) {
      const fault = storeFault(error, this.#options.folder);
      if (!(fault instanceof StoreFault && fault.code === "full" && room.release())) throw error;
      // The second try needs it, so `#giveUp` must not stop it.
      delete this.#parts.room;
      await this.#giveUp(false);
      this.#parts.room = room;
      return await this.#openStore();
    }
  }

  async #openStore(): Promise<Opened> {
    const { folder } = this.#options;
    const path = join(folder, storeFileName);
    this.#parts.owner = takeFolder(folder);
    if (this.#parts.owner.hadStore && !existsSync(path)) {
      throw new StoreFault(
        "damaged",
        `The file ${path} is not there, and ${folder} had a store (put it back, or start with --repair to begin without it)`,
      );
    }
    const draft = join(folder, draftFolderName);
    if (!existsSync(path) && existsSync(draft)) {
      throw new StoreFault(
        "failed",
        `A migration into ${folder} did not finish (run yardmaster migrate again, or remove ${draft} to begin without it)`,
      );
    }
    const { lastTask, ...opened } = await this.#openFile(path, this.#parts.owner);
    this.#epoch = opened.epoch;
    const tail = new Tail(lastTask);
    this.#parts.reads = new TailReads(tail, this.#storeReads);
    await this.#openJournal(this.#parts.owner, tail);
    this.#parts.watch = new StoreWatch({
      path,
      journal: this.#parts.journal as Journal,
      onGone: (gone) => this.#gone(gone),
    });
    return opened;
  }

  async #openFile(
    path: string,
    { wasClean, transaction, journal }: FolderOwner,
  ): Promise<Opened & { readonly lastTask: number }> {
    const link = new StoreLink(this.#options);
    this.#parts.link = link;
    const isOld = existsSync(path);
    const request = { op: "open", path, durability: this.durability, transaction, journal } as const;
    const timer = setTimeout(() => link.abandon(), openMsMax);
    try {
      const answer = await link.ask(request);
      assert.equal(answer.type, "opened");
      if (!wasClean && isOld)
        this.#parts.check = checkRecords(path, (what) => this.#options.onDamage?.(what));
      return { epoch: answer.epoch, tasks: answer.tasks, lastTask: answer.lastTask };
    } catch (error) {
      if (!link.isAbandoned) throw error;
      throw new StoreFault("in-use", `The file ${path} is locked by a process that does not release it`);
    } finally {
      clearTimeout(timer);
    }
  }

  async #openJournal(owner: FolderOwner, tail: Tail): Promise<void> {
    const { folder } = this.#options;
    const feed = new StoreFeed({
      link: this.#opened(),
      tail,
      onStored: (through) => journal.stored(through),
      gatherBytes: this.#options.gatherBytes,
    });
    const journal = new Journal({
      folder,
      epoch: this.#epoch,
      durability: this.durability,
      store: () => feed.flush(),
      makeRoom: () => this.#parts.room?.release() === true,
    });
    this.#parts.feed = feed;
    this.#parts.journal = journal;
    this.#lastBatch = 0;
    // From now on, the next start refuses to open the store without these journals.
    owner.keepJournal(journal.mark);
    // A later owner looks for journals in the transaction that takes the store over. After this
    // commit it has seen ours, or we are fenced.
    await this.#ask({ op: "commit", group: undefined, isAll: true });
  }

  async whenCaughtUp(): Promise<void> {
    await this.#parts.feed?.whenCaughtUp();
  }

  async load(take: (item: LoadItem) => void): Promise<void> {
    const link = this.#opened();
    // Not `flush`: a fenced owner, whose batches are refused, still loads what the store has.
    this.#parts.feed?.send();
    const last = await this.#ask({ op: "load" }, [], (part) => {
      takePart(part, take);
      link.say({ op: "taken" });
    });
    takePart(last, take);
  }

  /**
   * Resolves when the batch is durable in the journal. Reads see it through the tail until the
   * store has it.
   */
  async commit(batch: Batch): Promise<CommitOutcome> {
    this.#opened();
    const { epoch, number } = batch;
    assert.equal(epoch, this.#epoch, "the batch is of another epoch than the engine's");
    if (this.#broken !== undefined) throw this.#broken;
    const [journal, feed] = [this.#parts.journal as Journal, this.#parts.feed as StoreFeed];
    try {
      if (feed.fault !== undefined) throw feed.fault;
      if (number <= this.#lastBatch) return done;
      assert.equal(number, this.#lastBatch + 1, "a batch number was left out");
      const encoded = this.#encoder.encode(batch.changes);
      const length = sealEntry(encoded.bytes, encoded.end, epoch, number);
      await journal.append(encoded.bytes, length, number);
      this.#lastBatch = number;
      feed.add(number, encoded);
      this.#parts.room?.wrote(length);
      // The folder was taken over. The new owner may or may not have read this entry, so the
      // store's epoch decides.
      if (!journal.isOurs) await feed.flush();
      this.#parts.watch?.check();
      return done;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /**
   * After a failed write the kernel may report the next sync as good without the data, so the
   * engine does nothing more.
   */
  #failed(error: unknown): CommitOutcome {
    try {
      return outcomeOf(error, this.#options.folder);
    } catch (fault) {
      const isFinal = fault instanceof StoreFault && (fault.code === "io" || fault.code === "gone");
      if (isFinal) this.#broken = fault;
      throw fault;
    }
  }

  async putBody(task: TaskId, part: BodyPart, body: Body): Promise<void> {
    this.#opened();
    const { bytes, size } = body;
    assert.ok(bytes !== undefined && bytes.length === size, "a body is put with all its bytes");
    await this.#store(task, part, bytes);
  }

  dropBody(task: TaskId, part: BodyPart): Promise<void> {
    this.#opened();
    return this.#store(task, part, undefined);
  }

  async #store(task: TaskId, part: BodyPart, bytes: Uint8Array | undefined): Promise<void> {
    try {
      await this.#bodies.put(task, part, bytes);
    } catch (error) {
      // The next commit reports it.
      if (!(error instanceof StoreFailure && error.name === "Fenced")) throw error;
    }
  }

  async body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    return this.#opened() && this.#parts.reads?.body(task, part);
  }

  async memo(door: string, name: string): Promise<Uint8Array | undefined> {
    return this.#opened() && this.#parts.reads?.memo(door, name);
  }

  async task(id: TaskId): Promise<StoredTask | undefined> {
    return this.#opened() && this.#parts.reads?.task(id);
  }

  async find(query: TaskQuery): Promise<TaskPage> {
    assert.ok(query.limit >= 1, "a page has room for at least one task");
    this.#opened();
    return (this.#parts.reads as TailReads).find(query);
  }

  readonly #storeReads: StoreReads = {
    tasks: async (tasks, isLenient) => tasksIn(await this.#ask({ op: "tasks", tasks, isLenient })),
    find: async (query) => tasksIn(await this.#ask({ op: "find", query })),
    bodyBytes: async (task, part, size) => bytesIn(await this.#ask({ op: "body", task, part, size })),
    memo: async (door, name) => bytesIn(await this.#ask({ op: "memo", door, name })),
  };

  /** Throws StoreFault `gone` if the files in the folder are no longer those that were closed. */
  async close(): Promise<void> {
    const gone = this.#parts.watch?.missingStore;
    await this.#giveUp(gone === undefined);
    if (gone !== undefined) throw gone;
  }

  #gone(fault: StoreFault): void {
    this.#broken ??= fault;
    this.#options.onFault?.(fault);
  }

  async #giveUp(isClean: boolean): Promise<void> {
    const { link, owner, check, journal, feed, watch, room } = this.#parts;
    this.#parts = {};
    watch?.stop();
    room?.stop();
    this.#epoch = 0;
    check?.stop();
    await check?.ended;
    // If something fails here, the next start treats this as a crash and checks the store.
    const isStored = await succeeds(feed?.flush());
    feed?.stop();
    const isClosed = link !== undefined && (await succeeds(link.close()));
    const isInOrder = isStored && isClosed;
    // Before the journals are deleted: the next start refuses a folder that was not shut down
    // cleanly and lacks them.
    owner?.release(isClean && isInOrder ? this.#transaction() : undefined);
    journal?.close(isInOrder);
  }

  /**
   * The number of the file's last transaction; undefined if the file is damaged, which the next
   * start reports.
   */
  #transaction(): number | undefined {
    try {
      return lastTransactionOf(join(this.#options.folder, storeFileName));
    } catch {
      return undefined;
    }
  }

  async #ask(...request: Parameters<StoreLink["ask"]>): Promise<Answer> {
    const link = this.#opened();
    try {
      return await link.ask(...request);
    } catch (error) {
      if (error instanceof StoreFailure && error.name === "CursorMismatch") {
        throw new CursorMismatch(error.message);
      }
      throw storeFault(error, this.#options.folder);
    }
  }

  #opened(): StoreLink {
    assert.ok(this.#parts.link, "the engine is not open");
    return this.#parts.link;
  }
}

const done: CommitOutcome = { type: "done" };

async function succeeds(work: Promise<void> | undefined): Promise<boolean> {
  try {
    await work;
    return true;
  } catch {
    return false;
  }
}
