// Objects as peers see them: creating, requesting and deleting them, and announcing deletions.
// Storage is in objects.ts.

import { after, type Instant, type Moment } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { isProgram, writeToClient } from "./codec.js";
import { none } from "./frames.js";
import type { IdSecret } from "./id-table.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { LongWork } from "./long-work.js";
import type { MadeObjects } from "./made-objects.js";
import type { StoredObject } from "./memos.js";
import type { ObjectDelete, ScalerWire } from "./messages.js";
import type { ObjectCreation } from "./object-creation.js";
import { ObjectDeletion } from "./object-deletion.js";
import { ObjectRequests } from "./object-requests.js";
import { ObjectStorage, type StorageSettings, type WriteMemo } from "./object-storage.js";
import { keyOf, ScalerObjects } from "./objects.js";
import { deletion, PackedDeletion } from "./packed-deletion.js";
import { pickledException } from "./pickle.js";
import { type ObjectContent, ScalerObject } from "./scaler-object.js";
import { SerializerIds } from "./serializer-ids.js";
import { type ObjectFrame, StoredBytes } from "./stored-bytes.js";

/** A peer that requests objects. */
export interface ObjectRequester {
  readonly line: ScalerLine;
  readonly wire: ScalerWire;
  /** True if the peer writes each count in its own frame and expects the same. */
  readonly hasSplitCounts: boolean;
  /** [scaler 7.2] Objects that only this peer may request: those of foreign tasks that it holds. */
  virtual(id: Buffer): ObjectContent | undefined;
}

/**
 * [scaler 5.5] Deletions are gathered for this time before they are sent. With many workers the
 * time is longer, because each message goes to all of them.
 */
const broadcastMs = 100;
const broadcastMsPerWorker = 0.1;
/** Maximum number of ids in one message, below the usual frame limit of peers. */
const broadcastIdsMax = 900;
/** [scaler 5.9] A request with more ids than this must not name an object twice. */
const repeatableIdsMax = 1_000;
/**
 * Maximum number of remembered objects that had no room. A task that needs one of them fails with
 * the reason.
 */
const refusedMax = 10_000;

/**
 * [scaler 4.7] Limits of the results that are sent unrequested after a restart: their number and
 * their bytes.
 */
const pushedMax = 10_000;
const pushedBytesMax = 16 * 1024 * 1024;
/** Prefix of the name of a result, made by a worker or by the door. */
const resultName = Buffer.from("<res");

export interface ExchangeSettings extends StorageSettings {
  readonly objectBytesMax: number;
  readonly largestObjectBytes: number;
  readonly idSecret: IdSecret;
}

/** An object for an answer: a stored one, or a virtual one that only this requester may see. */
type Found = ScalerObject | ObjectContent;

export class ObjectExchange {
  readonly objects: ScalerObjects;
  readonly storage: ObjectStorage;
  readonly #host: ScalerHost;
  readonly #workers: () => ReadonlySet<ObjectRequester>;
  readonly #requests = new ObjectRequests<ObjectRequester>((requester, ids) => this.#answer(requester, ids));
  readonly #long = new LongWork();
  readonly #refused = new Recent<string, string>(refusedMax);
  readonly #largestBytes: number;
  /** Ids as text, one character per byte. */
  #gone: string[] = [];
  #restored: ScalerObject[] = [];
  readonly serializers = new SerializerIds();
  #broadcastAt: Instant | undefined;

  constructor(
    settings: ExchangeSettings,
    host: ScalerHost,
    write: WriteMemo,
    workers: () => ReadonlySet<ObjectRequester>,
  ) {
    this.#host = host;
    this.#largestBytes = settings.largestObjectBytes;
    this.#workers = workers;
    this.storage = new ObjectStorage(settings, {
      post: (event) => host.post(event),
      write,
      readMemo: (name, take) => host.readMemo(name, take),
      release: (object) => this.objects.release(object),
    });
    this.objects = new ScalerObjects(settings.objectBytesMax, settings.idSecret, {
      written: (object, isNew) => this.storage.written(object, isNew),
      replaced: (object) => this.storage.dropped(object),
      gone: (object) => {
        this.storage.dropped(object);
        this.#goneNow(object.idText);
      },
    });
  }

  restore(stored: readonly StoredObject[]): void {
    for (const object of stored) this.#restored.push(this.objects.restore(object));
  }

  /** Drops restored objects without an owner or a user. Call this when everything is restored. */
  dropUnused(): void {
    for (const object of this.#restored) this.objects.dropIfUnused(object);
    this.#restored = [];
  }

  /**
   * [scaler 5.1] Creates objects; those that are stored are added to `made`, if given. An object
   * without room is remembered as refused; an object of another owner is not changed. A large
   * object is still being written when this returns. Its sender is not read until the write ends,
   * so messages that name the object come after it.
   */
  create(owner: string, creation: ObjectCreation, line: ScalerLine, made?: MadeObjects): void {
    this.#long.run(line, creation.count, creation.frames.areMany, (from, to) =>
      this.#createPart(owner, creation, line, made, from, to),
    );
  }

  #createPart(
    owner: string,
    creation: ObjectCreation,
    line: ScalerLine,
    made: MadeObjects | undefined,
    from: number,
    to: number,
  ): void {
    const { frames } = creation;
    for (let index = from; index < to; index++) {
      const idAt = creation.idAt(index);
      const [nameAt, bytesAt] = [creation.nameAt(index), creation.bytesAt(index)];
      const refused = this.#refusalOf(creation, index, line);
      const outcome =
        refused === undefined ? this.objects.create(owner, frames, idAt, nameAt, bytesAt) : "no_room";
      if (typeof outcome === "object") {
        made?.add(outcome, owner);
        this.#created(outcome, line);
        continue;
      }
      if (outcome === "no_room") this.#refused.set(keyOf(frames.slice(idAt)), refused ?? noRoom);
      this.#host.fault(outcome === "no_room" ? "object_limit" : "object_taken", line.name);
    }
  }

  /** [scaler 5.4] A client deletes some of its objects. */
  delete(owner: string, message: ObjectDelete, line: ScalerLine): void {
    const isLong = message instanceof ObjectDeletion;
    const { count, idOf } = isLong
      ? { count: message.count, idOf: (index: number) => message.idOf(index) }
      : { count: message.ids.length, idOf: (index: number) => message.ids[index] as Buffer };
    this.#long.run(line, count, isLong, (from, to) => {
      for (let index = from; index < to; index++) this.objects.disown(owner, idOf(index));
    });
  }

  /** Releases all objects of a client that is gone. */
  deleteAll(key: string): void {
    const owner = this.objects.detach(key);
    if (owner !== undefined) this.#long.repeat((from, to) => this.objects.disownSome(owner, to - from));
  }

  #created(object: ScalerObject, line: ScalerLine): void {
    if (this.storage.isStoring(object)) {
      this.storage.whenStored(object, () => line.release());
      line.hold();
    }
    if (this.#requests.size > 0) this.#came(object.id);
  }

  #came(id: Buffer): void {
    this.#requests.came(id);
    const documentId = this.serializers.askedFor(id);
    if (documentId !== undefined) this.#requests.came(documentId);
  }

  /** [scaler 5.7] Why this object must be refused regardless of available room. */
  #refusalOf(creation: ObjectCreation, index: number, line: ScalerLine): string | undefined {
    const { frames, oversized } = creation;
    const [name, bytes] = [frames.bufferOf(creation.nameAt(index)), frames.bufferOf(creation.bytesAt(index))];
    const size = oversized?.get(bytes) ?? frames.lengthOf(creation.bytesAt(index));
    if (size > this.#largestBytes)
      return `has ${size} bytes, and an object may have ${this.#largestBytes} (doors.scaler.largestObjectBytes).`;
    if (oversized?.has(bytes) || oversized?.has(name)) return "came in a message that is too large.";
    // A worker's result is always accepted, because it ends a task that holds memory.
    const isWanted = line.session?.role === "worker" || !this.#host.isShortOfMemory();
    return isWanted ? undefined : "had no room: the dispatcher is short of memory (limits.memoryBytes).";
  }

  /** True if any object ever had no room. */
  get hasRefused(): boolean {
    return this.#refused.size > 0;
  }

  /** [scaler 5.6] Creates an object of the door's own for a client. */
  make(owner: string, id: Buffer, name: string, bytes: Buffer): Buffer {
    this.objects.make(owner, id, { name: Buffer.from(name), bytes });
    this.#requests.came(id);
    return id;
  }

  makeError(owner: string, id: Buffer, text: string): Buffer {
    return this.make(owner, id, "<error>", pickledException(text));
  }

  /**
   * Why the object was refused when it was created. Undefined if it was not refused or exists now.
   */
  whyRefused(id: Buffer): string | undefined {
    if (this.#refused.size === 0 || this.objects.get(id)?.isThere === true) return undefined;
    return this.#refused.get(keyOf(id));
  }

  /**
   * [scaler 5.3] Answers at once if all objects exist. Otherwise it answers when they do, or after
   * a while with those that exist.
   */
  request(requester: ObjectRequester, ids: readonly Buffer[]): void {
    const missing = ids.filter((id) => this.#find(requester, id) === undefined);
    if (missing.length === 0) this.#answer(requester, ids);
    else this.#requests.hold(requester, ids, new Set(missing.map(keyOf)), this.#host.now());
  }

  /**
   * [scaler 4.7] Sends an object that was not requested over this connection. Returns false if it
   * does not exist or there is no room.
   */
  push(requester: ObjectRequester, id: Buffer): boolean {
    const object = this.#thereAt(id);
    return object !== undefined && this.#push(requester, object);
  }

  /**
   * [scaler 4.7] Sends a client its newest results after a restart, up to a limit. It may have
   * requested one just before and does not repeat the request. It ignores results that it does not
   * wait for.
   */
  pushResults(requester: ObjectRequester, owner: string): void {
    let bytes = pushedBytesMax;
    let count = pushedMax;
    for (const object of this.objects.newestOf(owner)) {
      if (!object.isThere || !object.name.subarray(0, 4).equals(resultName)) continue;
      bytes -= object.size;
      count -= 1;
      if (bytes < 0 || count < 0 || !this.#push(requester, object)) return;
    }
  }

  #push(requester: ObjectRequester, object: ScalerObject): boolean {
    return requester.line.send(this.#contentFrames(requester, [object.id], [object]));
  }

  /** Drops the requests of a peer that is gone. */
  dropRequester(requester: ObjectRequester): void {
    this.#requests.drop(requester);
  }

  nextDeadline(): Instant | undefined {
    if (this.#long.nextDeadline() !== undefined) return this.#long.nextDeadline();
    const request = this.#requests.nextDeadline();
    if (request === undefined || this.#broadcastAt === undefined) return request ?? this.#broadcastAt;
    return request < this.#broadcastAt ? request : this.#broadcastAt;
  }

  handleTimeout(now: Moment): void {
    this.#long.handleTimeout();
    this.#requests.handleTimeout(now);
    if (this.#broadcastAt === undefined || now.instant < this.#broadcastAt) return;
    this.#broadcastAt = undefined;
    const gone = this.#gone;
    this.#gone = [];
    for (let at = 0; at < gone.length; at += broadcastIdsMax)
      this.#broadcast(gone.slice(at, at + broadcastIdsMax));
  }

  /** Tells one worker to forget objects. */
  static forget(requester: ObjectRequester, ids: readonly Buffer[]): void {
    requester.line.send(deletion(requester, ids));
  }

  #find(requester: ObjectRequester, id: Buffer): Found | undefined {
    const serializer = this.serializers.storedFor(id);
    return this.#thereAt(id) ?? (serializer && this.#thereAt(serializer)) ?? requester.virtual(id);
  }

  #thereAt(id: Buffer): ScalerObject | undefined {
    const object = this.objects.get(id);
    return object?.isThere === true ? object : undefined;
  }

  /**
   * [scaler 5.3] Answers with the ids of the request. If one is missing, a form-d worker is told
   * so. A form-r worker or a client gets the objects before the missing one, because it pairs ids
   * and objects by position.
   */
  #answer(requester: ObjectRequester, ids: readonly Buffer[]): void {
    const objects: Found[] = [];
    // [scaler 5.9] Naming one object many times would turn a small request into a very large
    // answer.
    const named = ids.length > repeatableIdsMax ? new Set<string>() : undefined;
    for (const id of ids) {
      const object = this.#find(requester, id);
      if (object === undefined || named?.has(keyOf(id)) === true) break;
      named?.add(keyOf(id));
      objects.push(object);
    }
    const isWhole = objects.length === ids.length;
    if (isWhole || isProgram(requester.wire))
      requester.line.answer(this.#contentFrames(requester, ids, objects));
    else {
      const { hasSplitCounts } = requester;
      const nothing = { ids, names: [], bytes: [], hasSplitCounts };
      requester.line.answer(writeToClient({ type: "object-answer", kind: "not-found", ...nothing }));
    }
  }

  /**
   * The bytes are the last frames. Those that are only in the engine are read when it is their
   * turn.
   */
  #contentFrames(
    requester: ObjectRequester,
    ids: readonly Buffer[],
    objects: readonly Found[],
  ): ObjectFrame[] {
    const { hasSplitCounts } = requester;
    const names = objects.map(({ name }) => name);
    const bytes = objects.map((object) =>
      object instanceof ScalerObject ? (this.storage.frameOf(object) ?? none) : object.bytes,
    );
    const inMemory = bytes.map((frame) => (frame instanceof StoredBytes ? none : frame));
    const all = { ids, names, bytes: inMemory, hasSplitCounts };
    const frames: ObjectFrame[] = writeToClient({ type: "object-answer", kind: "content", ...all });
    bytes.forEach((frame, index) => {
      frames[frames.length - bytes.length + index] = frame;
    });
    return frames;
  }

  #goneNow(id: string): void {
    const workers = this.#workers().size;
    if (workers === 0) return;
    this.#gone.push(id);
    const delayMs = Math.max(broadcastMs, workers * broadcastMsPerWorker);
    this.#broadcastAt ??= after(this.#host.now().instant, delayMs);
  }

  /**
   * [scaler 5.5] A worker without room misses the deletion and keeps the object, which costs only
   * that worker memory.
   */
  #broadcast(ids: readonly string[]): void {
    const shared = new PackedDeletion(ids);
    for (const requester of this.#workers()) shared.sendTo(requester);
  }
}

const noRoom =
  "had no room: the dispatcher's objects are at their limit of bytes (doors.scaler.objectBytes).";
