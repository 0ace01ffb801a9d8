// Objects as peers see them: created, asked for, deleted, and told to be gone. What is kept is in objects.ts.

import { after, type Instant, type Moment, type YardEvent } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { isProgram, word, writeToClient } from "./codec.js";
import { letterFrame, pushObjects } from "./frames.js";
import type { IdSecret } from "./id-table.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { objectDropped, objectWritten, type StoredObject } from "./memos.js";
import type { ObjectCreate, ScalerWire } from "./messages.js";
import { ObjectRequests } from "./object-requests.js";
import { keyOf, ScalerObjects } from "./objects.js";
import type { PackedFrames } from "./packed-frames.js";
import { pickledException } from "./pickle.js";
import type { ObjectContent, ScalerObject } from "./scaler-object.js";
import { SerializerIds } from "./serializer-ids.js";

/** Who asks for objects. */
export interface Asker {
  readonly line: ScalerLine;
  readonly wire: ScalerWire;
  /** How it writes counts, and wants them. */
  readonly hasSplitCounts: boolean;
  /** [scaler 7.2] Objects that only it can ask for: those of another dialect's tasks that it was given. */
  virtual(id: Buffer): ObjectContent | undefined;
}

/** [scaler 5.5] Deletions are gathered for so long; with many workers for longer, since each is sent to all. */
const broadcastMs = 100;
const broadcastMsPerWorker = 0.1;
/** Ids of one message: a peer with the usual limit of frames can take it. */
const broadcastIdsMax = 900;
/** [scaler 5.9] A request of more ids than this may name none twice. */
const repeatableIdsMax = 1_000;
/** Objects that had no room, so that a task which needs one is told why it fails. */
const refusedMax = 10_000;

/** [scaler 4.7] Results that are handed out unasked after a restart, and their bytes. */
const pushedMax = 10_000;
const pushedBytesMax = 16 * 1024 * 1024;
/** How the name of a worker's result begins, and of one that the door makes. */
const resultName = Buffer.from("<res");

export interface ExchangeSettings {
  readonly objectBytesMax: number;
  readonly largestObjectBytes: number;
  readonly idSecret: IdSecret;
  /** [scaler 8.1] False where nothing outlives the process: then nothing is written down. */
  readonly isRemembered: boolean;
}

export class ObjectExchange {
  readonly objects: ScalerObjects;
  readonly #host: ScalerHost;
  readonly #workers: () => ReadonlySet<Asker>;
  readonly #requests = new ObjectRequests<Asker>((asker, ids) => this.#answer(asker, ids));
  readonly #refused = new Recent<string, string>(refusedMax);
  readonly #largestBytes: number;
  /** Ids as text, a character for each byte. */
  #gone: string[] = [];
  #restored: ScalerObject[] = [];
  readonly serializers = new SerializerIds();
  #broadcastAt: Instant | undefined;

  constructor(
    { objectBytesMax, largestObjectBytes, idSecret, isRemembered }: ExchangeSettings,
    host: ScalerHost,
    workers: () => ReadonlySet<Asker>,
  ) {
    this.#host = host;
    this.#largestBytes = largestObjectBytes;
    this.#workers = workers;
    const post = (events: () => YardEvent[]) => {
      if (isRemembered) for (const event of events()) host.post(event);
    };
    this.objects = new ScalerObjects(objectBytesMax, idSecret, {
      written: (object, isNew) => post(() => objectWritten(object, isNew)),
      replaced: (object) => post(() => objectDropped(object)),
      gone: (object) => {
        post(() => objectDropped(object));
        this.#goneNow(object.idText);
      },
    });
  }

  restore(stored: readonly StoredObject[]): void {
    for (const { id, name, bytes, owners } of stored)
      this.#restored.push(this.objects.restore(owners, id, { name, bytes }));
  }

  /** Of what was restored, what nobody owns and nothing needs, when all that might is there. */
  dropUnused(): void {
    for (const object of this.#restored) this.objects.dropIfUnused(object);
    this.#restored = [];
  }

  /** [scaler 5.1] What has no room is remembered as refused; what is another's is not touched. Gives those that are stored. */
  create(owner: string, { ids, names, bytes }: ObjectCreate, peer: string): ScalerObject[] {
    const stored: ScalerObject[] = [];
    ids.forEach((id, index) => {
      const content = { name: names[index] as Buffer, bytes: bytes[index] as Buffer };
      const isTooLarge = content.bytes.length > this.#largestBytes;
      const outcome = isTooLarge ? "no_room" : this.objects.create(owner, id, content);
      if (outcome === "stored") {
        const object = this.objects.get(id);
        if (object !== undefined) stored.push(object);
        this.#requests.came(id);
        const documentId = this.serializers.askedFor(id);
        if (documentId !== undefined) this.#requests.came(documentId);
        return;
      }
      if (outcome === "no_room") this.#refused.set(keyOf(id), this.#whyRefused(content.bytes.length));
      this.#host.fault(outcome === "no_room" ? "object_limit" : "object_taken", peer);
    });
    return stored;
  }

  /** The same for the usual case, one small object that nobody has spoken of: undefined where it is not that. */
  createSmall(owner: string, frames: PackedFrames, first: number): ScalerObject | undefined {
    const object = this.objects.createSmall(owner, frames, first);
    if (object !== undefined && this.#requests.size > 0) this.#requests.came(object.id);
    return object;
  }

  /** Whether any object ever had no room. */
  get hasRefused(): boolean {
    return this.#refused.size > 0;
  }

  /** [scaler 5.6] An object of the door's own, for a client. */
  make(owner: string, id: Buffer, name: string, bytes: Buffer): Buffer {
    this.objects.create(owner, id, { name: Buffer.from(name), bytes }, true);
    this.#requests.came(id);
    return id;
  }

  makeError(owner: string, id: Buffer, text: string): Buffer {
    return this.make(owner, id, "<error>", pickledException(text));
  }

  /** Why it was refused when it was created; undefined where it was not, or is there now. */
  whyRefused(id: Buffer): string | undefined {
    if (this.#refused.size === 0 || this.objects.get(id)?.isThere === true) return undefined;
    return this.#refused.get(keyOf(id));
  }

  #whyRefused(bytes: number): string {
    return bytes > this.#largestBytes
      ? `has ${bytes} bytes, and an object may have ${this.#largestBytes} (doors.scaler.largestObjectBytes).`
      : "had no room: the dispatcher's objects are at their limit of bytes (doors.scaler.objectBytes).";
  }

  contentOf(id: Buffer): ObjectContent | undefined {
    return this.objects.get(id)?.content;
  }

  /** [scaler 5.3] Answered at once if all of it is there, else when it is, or after a while with what there is. */
  request(asker: Asker, ids: readonly Buffer[]): void {
    const missing = ids.filter((id) => this.#find(asker, id) === undefined);
    if (missing.length === 0) this.#answer(asker, ids);
    else this.#requests.hold(asker, ids, new Set(missing.map(keyOf)), this.#host.now());
  }

  /** [scaler 4.7] Hands out an object that was not asked for over this connection. False when there is none, or no room. */
  push(asker: Asker, id: Buffer): boolean {
    const content = this.contentOf(id);
    return content !== undefined && this.#push(asker, id, content);
  }

  /**
   * [scaler 4.7] After a restart: a client may have asked for a result just before, and does not ask again. It takes what it waits
   * for and drops the rest. The newest, as many as are no burden.
   */
  pushResults(asker: Asker, owner: string): void {
    let bytes = pushedBytesMax;
    let count = pushedMax;
    for (const object of this.objects.newestOf(owner)) {
      const { content } = object;
      if (content === undefined || !content.name.subarray(0, 4).equals(resultName)) continue;
      bytes -= content.bytes.length;
      count -= 1;
      if (bytes < 0 || count < 0 || !this.#push(asker, object.id, content)) return;
    }
  }

  #push(asker: Asker, id: Buffer, { name, bytes }: ObjectContent): boolean {
    const { hasSplitCounts } = asker;
    const one = { ids: [id], names: [name], bytes: [bytes], hasSplitCounts };
    return asker.line.send(writeToClient({ type: "object-answer", kind: "content", ...one }));
  }

  /** It is gone, and so are its requests. */
  dropAsker(asker: Asker): void {
    this.#requests.drop(asker);
  }

  nextDeadline(): Instant | undefined {
    const request = this.#requests.nextDeadline();
    if (request === undefined || this.#broadcastAt === undefined) return request ?? this.#broadcastAt;
    return request < this.#broadcastAt ? request : this.#broadcastAt;
  }

  handleTimeout(now: Moment): void {
    this.#requests.handleTimeout(now);
    if (this.#broadcastAt === undefined || now.instant < this.#broadcastAt) return;
    this.#broadcastAt = undefined;
    const gone = this.#gone;
    this.#gone = [];
    for (let at = 0; at < gone.length; at += broadcastIdsMax)
      this.#broadcast(gone.slice(at, at + broadcastIdsMax));
  }

  /** Tells one worker that it can forget an object. */
  static forget(asker: Asker, ids: readonly Buffer[]): void {
    asker.line.send(deletion(asker, ids));
  }

  #find(asker: Asker, id: Buffer): ObjectContent | undefined {
    const serializer = this.serializers.storedFor(id);
    return this.contentOf(id) ?? (serializer && this.contentOf(serializer)) ?? asker.virtual(id);
  }

  /**
   * [scaler 5.3] Ids as they were asked for. Where one is missing, a worker of form d is told so; one of form r, and a
   * client, gets what comes before it, since it pairs ids and objects by their places.
   */
  #answer(asker: Asker, ids: readonly Buffer[]): void {
    const names: Buffer[] = [];
    const bytes: Buffer[] = [];
    // [scaler 5.9] One object named very often would make a very large answer of a small question.
    const named = ids.length > repeatableIdsMax ? new Set<string>() : undefined;
    for (const id of ids) {
      const content = this.#find(asker, id);
      if (content === undefined || named?.has(keyOf(id)) === true) break;
      named?.add(keyOf(id));
      names.push(content.name);
      bytes.push(content.bytes);
    }
    const isWhole = names.length === ids.length;
    const { hasSplitCounts } = asker;
    const frames =
      isWhole || isProgram(asker.wire)
        ? writeToClient({ type: "object-answer", kind: "content", ids, names, bytes, hasSplitCounts })
        : writeToClient({
            ...{ type: "object-answer", kind: "not-found", ids, names: [], bytes: [] },
            hasSplitCounts,
          });
    asker.line.answer(frames);
  }

  #goneNow(id: string): void {
    const workers = this.#workers().size;
    if (workers === 0) return;
    this.#gone.push(id);
    const delayMs = Math.max(broadcastMs, workers * broadcastMsPerWorker);
    this.#broadcastAt ??= after(this.#host.now().instant, delayMs);
  }

  /** [scaler 5.5] One that takes nothing now keeps what it has: it only costs itself memory. */
  #broadcast(ids: readonly string[]): void {
    const shared = packedIds(ids);
    for (const asker of this.#workers()) {
      const from = writeBefore(shared, deletion(asker, [], ids.length));
      asker.line.sendPacked(shared.bytes, from, shared.bytes.length);
    }
  }
}

/** Ids as the last frames of a message, behind room for those before them. */
function packedIds(ids: readonly string[]): { readonly bytes: Buffer; readonly idsAt: number } {
  const idsAt = deletionHeadBytesMax;
  const size = ids.reduce((sum, id) => sum + 2 + id.length, 0);
  const bytes = Buffer.allocUnsafeSlow(idsAt + size);
  let at = idsAt;
  ids.forEach((id, index) => {
    bytes[at] = index < ids.length - 1 ? 1 : 0;
    bytes[at + 1] = id.length;
    bytes.write(id, at + 2, "latin1");
    at += 2 + id.length;
  });
  return { bytes, idsAt };
}

/** OI, D, an identity and three counts, each behind its two bytes. */
const deletionHeadBytesMax = 6 * 2 + 2 + 1 + 255 + 12;

/** Puts the first frames of a message before the others; where it begins. */
function writeBefore({ bytes, idsAt }: { bytes: Buffer; idsAt: number }, frames: readonly Buffer[]): number {
  const from = frames.reduce((at, { length }) => at - 2 - length, idsAt);
  let at = from;
  for (const frame of frames) {
    bytes[at] = 1;
    bytes[at + 1] = frame.length;
    bytes.set(frame, at + 2);
    at += 2 + frame.length;
  }
  return from;
}

/** `count`: of ids, where they are not among the frames given. */
function deletion(
  { wire, hasSplitCounts, line }: Asker,
  ids: readonly Buffer[],
  count = ids.length,
): Buffer[] {
  const head = isProgram(wire)
    ? [word.OI, letterFrame("D"), line.identity]
    : [word.OI, line.identity, letterFrame("D")];
  return pushObjects(head, { ids, names: [], bytes: [], hasSplitCounts }, count);
}
