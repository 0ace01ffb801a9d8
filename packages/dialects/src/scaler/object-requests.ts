// Requests for objects that are not all there yet: each is held briefly, in case what is missing is on its way, and then
// answered with what there is.

import { after, Deadline, Deadlines, type Instant, type Moment } from "@yardmaster/core";
import { keyOf } from "./objects.js";

/** [scaler 5.3] Long against the way of an object that was sent before it was asked for, short against a person's patience. */
const waitMs = 2_000;
/** Ids that all peers together wait for; beyond it a request is answered at once. */
const waitingIdsMax = 100_000;

interface Waiting<Asker> {
  readonly asker: Asker;
  readonly ids: readonly Buffer[];
  /** The keys of those that are not there. */
  readonly missing: Set<string>;
}

export class ObjectRequests<Asker> {
  readonly #answer: (asker: Asker, ids: readonly Buffer[]) => void;
  readonly #byMissing = new Map<string, Set<Deadline<Waiting<Asker>>>>();
  readonly #byAsker = new Map<Asker, Set<Deadline<Waiting<Asker>>>>();
  readonly #deadlines = new Deadlines<Waiting<Asker>>();
  #size = 0;

  constructor(answer: (asker: Asker, ids: readonly Buffer[]) => void) {
    this.#answer = answer;
  }

  /** How many ids are waited for, with those that came along. */
  get size(): number {
    return this.#size;
  }

  /** Ids are kept in memory of their own while they wait. */
  hold(asker: Asker, ids: readonly Buffer[], missing: Set<string>, now: Moment): void {
    if (this.#size + ids.length > waitingIdsMax) return this.#answer(asker, ids);
    const deadline = new Deadline<Waiting<Asker>>({ asker, ids: ids.map((id) => Buffer.from(id)), missing });
    this.#size += ids.length;
    for (const key of missing) add(this.#byMissing, key, deadline);
    add(this.#byAsker, asker, deadline);
    this.#deadlines.arm(deadline, after(now.instant, waitMs));
  }

  /** An object is there now. */
  came(id: Buffer): void {
    if (this.#byMissing.size === 0) return;
    const key = keyOf(id);
    for (const deadline of this.#byMissing.get(key) ?? []) {
      deadline.subject.missing.delete(key);
      if (deadline.subject.missing.size === 0) this.#end(deadline);
    }
    this.#byMissing.delete(key);
  }

  /** Nobody waits any more. */
  drop(asker: Asker): void {
    for (const deadline of this.#byAsker.get(asker) ?? []) this.#forget(deadline);
  }

  nextDeadline(): Instant | undefined {
    return this.#deadlines.next();
  }

  handleTimeout(now: Moment): void {
    for (;;) {
      const deadline = this.#deadlines.takeDue(now.instant);
      if (deadline === undefined) return;
      this.#end(deadline);
    }
  }

  #end(deadline: Deadline<Waiting<Asker>>): void {
    this.#forget(deadline);
    this.#answer(deadline.subject.asker, deadline.subject.ids);
  }

  #forget(deadline: Deadline<Waiting<Asker>>): void {
    const { asker, ids, missing } = deadline.subject;
    this.#size -= ids.length;
    this.#deadlines.disarm(deadline);
    for (const key of missing) remove(this.#byMissing, key, deadline);
    remove(this.#byAsker, asker, deadline);
  }
}

function add<Key, Value>(index: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, new Set([value]));
  else known.add(value);
}

function remove<Key, Value>(index: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const known = index.get(key);
  known?.delete(value);
  if (known?.size === 0) index.delete(key);
}
