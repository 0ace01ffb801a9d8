// Requests for objects of which some do not exist yet. Each is held briefly, because the missing
// objects may be on their way, and then answered with those that exist.

import { after, Deadline, Deadlines, type Instant, type Moment } from "@yardmaster/core";
import { keyOf } from "./objects.js";

/**
 * [scaler 5.3] Much longer than an object needs if it was sent before the request, and short enough
 * for a person to wait.
 */
const waitMs = 2_000;
/**
 * Maximum number of ids for which all peers together wait. Beyond it, a request is answered at
 * once.
 */
const waitingIdsMax = 100_000;

interface WaitingRequest<Requester> {
  readonly requester: Requester;
  readonly ids: readonly Buffer[];
  /** Keys of the objects that do not exist yet. */
  readonly missing: Set<string>;
}

export class ObjectRequests<Requester> {
  readonly #answer: (requester: Requester, ids: readonly Buffer[]) => void;
  readonly #byMissing = new Map<string, Set<Deadline<WaitingRequest<Requester>>>>();
  readonly #byRequester = new Map<Requester, Set<Deadline<WaitingRequest<Requester>>>>();
  readonly #deadlines = new Deadlines<WaitingRequest<Requester>>();
  #size = 0;

  constructor(answer: (requester: Requester, ids: readonly Buffer[]) => void) {
    this.#answer = answer;
  }

  /** Number of ids in all held requests, including those that exist. */
  get size(): number {
    return this.#size;
  }

  /** Copies the ids, because they outlive the read buffer. */
  hold(requester: Requester, ids: readonly Buffer[], missing: Set<string>, now: Moment): void {
    if (this.#size + ids.length > waitingIdsMax) return this.#answer(requester, ids);
    const deadline = new Deadline<WaitingRequest<Requester>>({
      requester,
      ids: ids.map((id) => Buffer.from(id)),
      missing,
    });
    this.#size += ids.length;
    for (const key of missing) add(this.#byMissing, key, deadline);
    add(this.#byRequester, requester, deadline);
    this.#deadlines.arm(deadline, after(now.instant, waitMs));
  }

  /** An object was created. */
  came(id: Buffer): void {
    if (this.#byMissing.size === 0) return;
    const key = keyOf(id);
    for (const deadline of this.#byMissing.get(key) ?? []) {
      deadline.subject.missing.delete(key);
      if (deadline.subject.missing.size === 0) this.#end(deadline);
    }
    this.#byMissing.delete(key);
  }

  /** Drops the requests of a peer that no longer waits. */
  drop(requester: Requester): void {
    for (const deadline of this.#byRequester.get(requester) ?? []) this.#forget(deadline);
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

  #end(deadline: Deadline<WaitingRequest<Requester>>): void {
    this.#forget(deadline);
    this.#answer(deadline.subject.requester, deadline.subject.ids);
  }

  #forget(deadline: Deadline<WaitingRequest<Requester>>): void {
    const { requester, ids, missing } = deadline.subject;
    this.#size -= ids.length;
    this.#deadlines.disarm(deadline);
    for (const key of missing) remove(this.#byMissing, key, deadline);
    remove(this.#byRequester, requester, deadline);
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
