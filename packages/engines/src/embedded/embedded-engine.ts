// The engine that keeps everything in a folder of its own. A commit is one entry of the journal, on the disk before it
// resolves; an LMDB file takes it over from there. What happens here is encoding and waiting; that file is worked on by a
// thread (store-thread.ts).

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Body, StoredTask, TaskId } from "@yardmaster/core";
import { CursorMismatch } from "../cursor.js";
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
import { RecordWriter, writeChange } from "../records/index.js";
import { takePart, viewedTasks } from "./answered-tasks.js";
import { DiskRoom } from "./disk-room.js";
import { lastTransactionOf } from "./file-roots.js";
import { type FolderOwner, takeFolder } from "./folder-owner.js";
import { Journal } from "./journal.js";
import { entryBytes, entryHeaderBytes, entryUnit, sealEntry } from "./journal-form.js";
import { makePrivateFolder } from "./private-folder.js";
import { checkRecords, type RecordCheck } from "./record-check.js";
import { pieceBytes } from "./store-bodies.js";
import { outcomeOf, StoreFault, storeFault } from "./store-faults.js";
import { StoreFeed } from "./store-feed.js";
import { storeFileName } from "./store-file.js";
import { StoreFailure, StoreLink } from "./store-link.js";
import type { Answer } from "./store-messages.js";
import { StoreWatch } from "./store-watch.js";

/** Of a large body on its way to the thread: copying so much is a fraction of a millisecond. */
const bodyStretchBytes = 16 * pieceBytes;

/**
 * Taking the file over is a matter of seconds even where it is large. LMDB's own lock is waited for, and somebody who was
 * stopped in the middle of a transaction never lets it go.
 */
const openMsMax = 60_000;

/** Of what batches are written in; it is not kept where it had to grow beyond the second. */
const writerBytes = 65_536;
const writerBytesMax = 1_048_576;

export interface EmbeddedEngineOptions {
  /** Made if it is not there. */
  readonly folder: string;
  /** `memory`: commits are not forced to the disk. They survive the process, not the machine. */
  readonly durability?: "fsync" | "memory";
  /** Size of the reserve that is released when the disk is full; 0, the default, for none. */
  readonly reserveBytes?: number;
  /** A record was read that is not what was written; it is left out of what is answered. */
  readonly onDamage?: (what: string) => void;
  /** Something that an operator wants to know, and that needs nothing done. */
  readonly onNotice?: (what: string) => void;
  /** The disk is full, and this is why no more tasks must be accepted; undefined when there is room again. */
  readonly onShortage?: (shortage: string | undefined) => void;
  /** Nothing can be committed any more, found while nobody commits. */
  readonly onFault?: (fault: Error) => void;
  /** Works on the file in the caller's thread: for tests. */
  readonly isLocal?: boolean;
  /** Hands batches to the store when so many bytes have gathered: for tests. */
  readonly gatherBytes?: number;
}

export class EmbeddedEngine implements Engine {
  readonly name = "embedded";
  readonly durability: "fsync" | "memory";
  /** What is larger would not fit well into LMDB's pages, nor into memory while a million tasks wait. */
  readonly inlineBytesMax = 4096;
  /** A write to the disk takes a fifth of a millisecond from a processor, whatever is in it: a tenth of one at 500 a second. */
  readonly busyMs = 3;
  readonly #options: EmbeddedEngineOptions;
  #link: StoreLink | undefined;
  #owner: FolderOwner | undefined;
  #check: RecordCheck | undefined;
  /** 0 while it is not open. */
  #epoch = 0;
  /** A commit failed in a way that no later one can make good. */
  #broken: unknown;
  #journal: Journal | undefined;
  #watch: StoreWatch | undefined;
  #room: DiskRoom | undefined;
  #feed: StoreFeed | undefined;
  #lastBatch = 0;
  /** Of the batch under way: there is one at a time. */
  #writer = this.#newWriter();

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
    this.durability = options.durability ?? "fsync";
  }

  async open(): Promise<Opened> {
    assert.equal(this.#link, undefined, "the engine is open already");
    const { folder, reserveBytes = 0 } = this.#options;
    try {
      const tightened = makePrivateFolder(folder);
      if (tightened.length > 0)
        this.#options.onNotice?.(`Other users could read ${tightened.join(", ")}; that is changed now.`);
      this.#room = new DiskRoom({
        folder,
        reserveBytes,
        onChange: (shortage) => this.#options.onShortage?.(shortage),
      });
      this.#room.begin();
      return await this.#openWithRoom(this.#room);
    } catch (error) {
      await this.#giveUp(false);
      throw storeFault(error, folder);
    }
  }

  /** Once more, if the first time found no room and there is a reserve. */
  async #openWithRoom(room: DiskRoom): Promise<Opened> {
    try {
      return await this.#openStore();
    } catch (error) {
      const fault = storeFault(error, this.#options.folder);
      if (!(fault instanceof StoreFault && fault.code === "full" && room.release())) throw error;
      // It stays while the rest is given up.
      this.#room = undefined;
      await this.#giveUp(false);
      this.#room = room;
      return await this.#openStore();
    }
  }

  async #openStore(): Promise<Opened> {
    const { folder } = this.#options;
    const path = join(folder, storeFileName);
    this.#owner = takeFolder(folder);
    if (this.#owner.hadStore && !existsSync(path)) {
      throw new StoreFault(
        "damaged",
        `The file ${path} is not there, and ${folder} had a store (put it back, or start with --repair to begin without it)`,
      );
    }
    const opened = await this.#openFile(path, this.#owner);
    this.#epoch = opened.epoch;
    await this.#openJournal(this.#owner);
    this.#watch = new StoreWatch({
      path,
      journal: this.#journal as Journal,
      onGone: (gone) => this.#gone(gone),
    });
    return opened;
  }

  async #openFile(path: string, { wasClean, transaction, journal }: FolderOwner): Promise<Opened> {
    const link = new StoreLink(this.#options);
    this.#link = link;
    const isOld = existsSync(path);
    const request = { op: "open", path, durability: this.durability, transaction, journal } as const;
    const timer = setTimeout(() => link.abandon(), openMsMax);
    try {
      const answer = await link.ask(request);
      assert.equal(answer.type, "opened");
      if (!wasClean && isOld) this.#check = checkRecords(path, (what) => this.#options.onDamage?.(what));
      return { epoch: answer.epoch, tasks: answer.tasks };
    } catch (error) {
      if (!link.isAbandoned) throw error;
      throw new StoreFault("in-use", `The file ${path} is locked by a process that does not let go of it`);
    } finally {
      clearTimeout(timer);
    }
  }

  async #openJournal(owner: FolderOwner): Promise<void> {
    const { folder } = this.#options;
    const feed = new StoreFeed({
      link: this.#opened(),
      onStored: (through) => journal.stored(through),
      gatherBytes: this.#options.gatherBytes,
    });
    const journal = new Journal({
      folder,
      epoch: this.#epoch,
      durability: this.durability,
      store: () => feed.flush(),
      makeRoom: () => this.#room?.release() === true,
    });
    this.#feed = feed;
    this.#journal = journal;
    this.#lastBatch = 0;
    // From now on a start without them is not accepted in silence.
    owner.keepJournal(this.#epoch);
    // Whoever takes the store over looks for journals in the same transaction: they have seen this one, or we are fenced.
    await this.#ask({ op: "commit", group: undefined, isAll: true });
  }

  async load(take: (item: LoadItem) => void): Promise<void> {
    const link = this.#opened();
    const last = await this.#ask({ op: "load" }, [], (part) => {
      takePart(part, take);
      link.say({ op: "taken" });
    });
    takePart(last, take);
  }

  /** Durable in the journal; the store has it by the time anybody asks. */
  async commit(batch: Batch): Promise<CommitOutcome> {
    this.#opened();
    const { epoch, number } = batch;
    assert.equal(epoch, this.#epoch, "the batch is of another epoch than the engine's");
    if (this.#broken !== undefined) throw this.#broken;
    const [journal, feed] = [this.#journal as Journal, this.#feed as StoreFeed];
    try {
      if (feed.fault !== undefined) throw feed.fault;
      if (number <= this.#lastBatch) return done;
      assert.equal(number, this.#lastBatch + 1, "a batch number was left out");
      const writer = this.#encode(batch);
      const end = writer.at;
      const length = sealEntry(writer.bytes, end, epoch, number);
      await journal.append(writer.bytes, length, number);
      this.#lastBatch = number;
      feed.add(number, writer.bytes, entryHeaderBytes, end);
      this.#room?.wrote(length);
      // Taken over: whoever has the store now may or may not have read this from the journal. The store itself knows.
      if (!journal.isOurs) await feed.flush();
      this.#watch?.check();
      return done;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** After a disk has failed, the kernel may call the next sync good without the data: nothing more is done here. */
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
    for (let from = 0; from < size || from === 0; from += bodyStretchBytes) {
      const stretch = bytes.buffer.slice(
        bytes.byteOffset + from,
        bytes.byteOffset + Math.min(size, from + bodyStretchBytes),
      ) as ArrayBuffer;
      try {
        await this.#ask({ op: "put-body", task, part, from, bytes: stretch }, [stretch]);
      } catch (error) {
        // The commit that follows says so.
        if (error instanceof StoreFailure && error.name === "Fenced") return;
        throw error;
      }
    }
  }

  async body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    const answer = await this.#ask({ op: "body", task, part });
    if (answer.type !== "body") return undefined;
    const bytes = new Uint8Array(answer.bytes);
    return { mediaType: answer.mediaType, size: bytes.length, bytes };
  }

  async task(id: TaskId): Promise<StoredTask | undefined> {
    const [task] = viewedTasks(await this.#ask({ op: "task", task: id }));
    return task;
  }

  async find(query: TaskQuery): Promise<TaskPage> {
    assert.ok(query.limit >= 1, "a page has room for at least one task");
    const answer = await this.#ask({ op: "find", query });
    return {
      items: [...viewedTasks(answer)],
      cursor: answer.type === "tasks" ? answer.cursor : undefined,
    };
  }

  /** Throws StoreFault `gone` where the files that were closed are not the ones in the folder. */
  async close(): Promise<void> {
    const gone = this.#watch?.missingStore;
    await this.#giveUp(gone === undefined);
    if (gone !== undefined) throw gone;
  }

  #gone(fault: StoreFault): void {
    this.#broken ??= fault;
    this.#options.onFault?.(fault);
  }

  async #giveUp(isClean: boolean): Promise<void> {
    const [link, owner, check] = [this.#link, this.#owner, this.#check];
    const [journal, feed] = [this.#journal, this.#feed];
    this.#watch?.stop();
    this.#room?.stop();
    this.#watch = undefined;
    this.#room = undefined;
    this.#link = undefined;
    this.#owner = undefined;
    this.#check = undefined;
    this.#journal = undefined;
    this.#feed = undefined;
    this.#epoch = 0;
    check?.stop();
    await check?.ended;
    // What is not closed in order is looked at when it is opened again.
    const isStored = await succeeds(feed?.flush());
    feed?.stop();
    const isClosed = link !== undefined && (await succeeds(link.close()));
    const isInOrder = isStored && isClosed;
    // Before the journals go: without one, a folder whose last owner did not end in order is refused.
    owner?.release(isClean && isInOrder ? this.#transaction() : undefined);
    journal?.close(isInOrder);
  }

  /** The last one of the file that was closed; undefined where it is damaged, which the next start says. */
  #transaction(): number | undefined {
    try {
      return lastTransactionOf(join(this.#options.folder, storeFileName));
    } catch {
      return undefined;
    }
  }

  /** All changes, each as a record behind its length, with room in front for the journal's header. */
  #encode({ changes }: Batch): RecordWriter {
    if (this.#writer.bytes.length > writerBytesMax) this.#writer = this.#newWriter();
    const writer = this.#writer;
    writer.at = entryHeaderBytes;
    for (const change of changes) {
      const mark = writer.at;
      writer.reserve(4);
      writer.at += 4;
      writeChange(writer, change);
      writer.bytes.writeUInt32LE(writer.at - mark - 4, mark);
    }
    const end = writer.at;
    writer.reserve(entryUnit);
    writer.bytes.fill(0, end, entryBytes(end - entryHeaderBytes));
    return writer;
  }

  #newWriter(): RecordWriter {
    return new RecordWriter({ bodyBytesMax: this.inlineBytesMax, size: writerBytes });
  }

  async #ask(...request: Parameters<StoreLink["ask"]>): Promise<Answer> {
    const link = this.#opened();
    this.#feed?.send();
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
    assert.ok(this.#link, "the engine is not open");
    return this.#link;
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
