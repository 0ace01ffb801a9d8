// Objects as peers see them: created, asked for, deleted, and told to be gone. What is kept is in objects.ts.

import { after, type Instant, type Moment } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { isProgram, word, writeToClient } from "./codec.js";
import { letterFrame, pushObjects } from "./frames.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { objectDropped, objectWritten, type StoredObject } from "./memos.js";
import type { ObjectCreate, ScalerWire } from "./messages.js";
import { ObjectRequests } from "./object-requests.js";
import { keyOf, type ObjectContent, type ScalerObject, ScalerObjects } from "./objects.js";
import { pickledException } from "./pickle.js";

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
/** Objects that had no room, so that a task which needs one is told why it fails. */
const refusedMax = 10_000;

export class ObjectExchange {
  readonly objects: ScalerObjects;
  readonly #host: ScalerHost;
  readonly #workers: () => ReadonlySet<Asker>;
  readonly #requests = new ObjectRequests<Asker>((asker, ids) => this.#answer(asker, ids));
  readonly #refused = new Recent<string, true>(refusedMax);
  #gone: Buffer[] = [];
  #broadcastAt: Instant | undefined;

  constructor(bytesMax: number, host: ScalerHost, workers: () => ReadonlySet<Asker>) {
    this.#host = host;
    this.#workers = workers;
    this.objects = new ScalerObjects(bytesMax, {
      written: (object, isNew) => {
        for (const post of objectWritten(object, isNew)) host.post(post);
      },
      replaced: (object) => {
        for (const post of objectDropped(object)) host.post(post);
      },
      gone: (object) => {
        for (const post of objectDropped(object)) host.post(post);
        this.#goneNow(object.id);
      },
    });
  }

  restore(stored: readonly StoredObject[]): void {
    for (const { id, name, bytes, owners } of stored) this.objects.restore(owners, id, { name, bytes });
  }

  /** [scaler 5.1] What has no room is remembered as refused; what is another's is not touched. Gives those that are stored. */
  create(owner: string, { ids, names, bytes }: ObjectCreate, peer: string): ScalerObject[] {
    const stored: ScalerObject[] = [];
    ids.forEach((id, index) => {
      const content = { name: names[index] as Buffer, bytes: bytes[index] as Buffer };
      const outcome = this.objects.create(owner, id, content);
      if (outcome === "stored") {
        const object = this.objects.get(id);
        if (object !== undefined) stored.push(object);
        this.#requests.came(id);
        return;
      }
      if (outcome === "no_room") this.#refused.set(keyOf(id), true);
      this.#host.fault(outcome === "no_room" ? "object_limit" : "object_taken", peer);
    });
    return stored;
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

  /** Whether it had no room when it was created, and is not there. */
  wasRefused(id: Buffer): boolean {
    return (
      this.#refused.size > 0 && this.#refused.has(keyOf(id)) && this.objects.get(id)?.content === undefined
    );
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
    return this.contentOf(id) ?? asker.virtual(id);
  }

  /**
   * [scaler 5.3] Ids as they were asked for. Where one is missing, a worker of form d is told so; one of form r, and a
   * client, gets what comes before it, since it pairs ids and objects by their places.
   */
  #answer(asker: Asker, ids: readonly Buffer[]): void {
    const names: Buffer[] = [];
    const bytes: Buffer[] = [];
    for (const id of ids) {
      const content = this.#find(asker, id);
      if (content === undefined) break;
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

  #goneNow(id: Buffer): void {
    const workers = this.#workers().size;
    if (workers === 0) return;
    this.#gone.push(id);
    const delayMs = Math.max(broadcastMs, workers * broadcastMsPerWorker);
    this.#broadcastAt ??= after(this.#host.now().instant, delayMs);
  }

  /** [scaler 5.5] One that takes nothing now keeps what it has: it only costs itself memory. */
  #broadcast(ids: readonly Buffer[]): void {
    const shared = new Map<string, Buffer[]>();
    for (const asker of this.#workers()) {
      const isR = isProgram(asker.wire);
      const form = `${isR} ${asker.hasSplitCounts}`;
      const frames = shared.get(form) ?? deletion(asker, ids);
      frames[isR ? 2 : 1] = asker.line.identity;
      shared.set(form, frames);
      asker.line.send(frames);
    }
  }
}

function deletion({ wire, hasSplitCounts, line }: Asker, ids: readonly Buffer[]): Buffer[] {
  const head = isProgram(wire)
    ? [word.OI, letterFrame("D"), line.identity]
    : [word.OI, line.identity, letterFrame("D")];
  return pushObjects(head, { ids, names: [], bytes: [], hasSplitCounts });
}
