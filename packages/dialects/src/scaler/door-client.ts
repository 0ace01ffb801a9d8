// A client from the door's side: its open requests, outcomes not yet delivered, and outcomes that
// it may ask for again. It outlives its connections and ends only with its goodbye or a long
// silence [scaler 4.5].

import { after, type Instant, type ReplyTo, type TaskId } from "@yardmaster/core";
import { code } from "./codec.js";
import type { ScalerGraph } from "./graph-run.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { LiveTasks } from "./live-task.js";
import type { TaskResult } from "./messages.js";
import type { ObjectRequester } from "./object-exchange.js";
import { keyOf } from "./objects.js";
import { PackedResult } from "./packed-messages.js";
import { sendPacked } from "./packed-writer.js";
import { Unconfirmed } from "./unconfirmed.js";

/**
 * Maximum number of outcomes kept for a client that is away or slow. Beyond it, the core delivers
 * the rest later.
 */
const owedMax = 100_000;
/** [scaler 4.4] After connecting, a client repeats its requests within this time, if at all. */
const repeatsForMs = 60_000;
const repeatableMax = 100_000;
/**
 * [scaler 4.7] Beyond this count the oldest outcome counts as delivered. Real clients receive fewer
 * between two heartbeats.
 */
const unconfirmedMax = 10_000;
/**
 * [scaler 4.7] Requested ids that are remembered, so that a request whose answer was lost can be
 * answered again. The last request is remembered whatever its size.
 */
const askedIdsMax = 10_000;

/** What belongs to an outcome besides its message. */
interface OutcomeContext {
  /** The core's task, if the outcome came from the core. */
  readonly task?: TaskId | undefined;
  /**
   * Number of the connection over which the client last sent the request. Absent if the client will
   * not repeat it.
   */
  readonly saidOver?: number | undefined;
  /** Called when the outcome was delivered, or never can be. */
  readonly whenTold?: (() => void) | undefined;
}

/** A task or a graph that has not ended. */
interface OpenRequest {
  readonly client: ScalerDoorClient;
  /** Number of the client's connection over which it was last sent. */
  saidOver: number;
}

interface Owed extends OutcomeContext {
  readonly result: PackedResult;
  /** [scaler 4.7] The client may already have this outcome and only wait for its object. */
  readonly isAgain: boolean;
}

export interface ClientHost extends ScalerHost {
  /**
   * Sends an object that was not requested over this connection. Does nothing if the object does
   * not exist.
   */
  push(requester: ObjectRequester, id: Buffer): void;
}

export class ScalerDoorClient {
  readonly role = "client";
  readonly key: string;
  readonly id: Buffer;
  readonly name: string;
  readonly replyTo: ReplyTo;
  readonly tasks = new LiveTasks();
  readonly graphs = new Set<ScalerGraph>();
  readonly #host: ClientHost;
  #owed: Owed[] = [];
  /** [scaler 4.7] Outcomes sent over this connection and not yet confirmed. */
  readonly #sent = new Unconfirmed<Owed>(unconfirmedMax, 1);
  /**
   * Ids that the client requested. An answer may wait for an object, so it is confirmed one echo
   * later than an outcome.
   */
  readonly #asked = new Unconfirmed<readonly Buffer[]>(askedIdsMax, 2, (ids) => ids.length);
  /**
   * The client is known from before a restart. It may already have outcomes that this process sends
   * for the first time.
   */
  readonly #isRestored: boolean;
  /** [scaler 4.4] Outcomes sent over this connection for requests that came over an earlier one. */
  readonly #repeatable = new Map<string, PackedResult>();
  #repeatsUntil = 0 as Instant;
  /** Number of the current connection; 0 before the first one since the start. */
  connection = 0;
  line: ScalerLine | undefined = undefined;
  requester: ObjectRequester | undefined = undefined;
  isDead = false;

  constructor(key: string, id: Buffer, name: string, host: ClientHost, isRestored = false) {
    this.#isRestored = isRestored;
    this.key = key;
    this.id = id;
    this.name = name;
    this.replyTo = { address: name, diesWithConnection: false };
    this.#host = host;
  }

  /** Starts a new connection and ends the previous one, if there was one. */
  attach(line: ScalerLine): void {
    this.line = line;
    this.requester = { line, wire: "r", hasSplitCounts: false, virtual: () => undefined };
    this.connection += 1;
    this.#repeatable.clear();
    this.#repeatsUntil = after(this.#host.now().instant, repeatsForMs);
    const again = this.#sent.takeAll().map((sent) => ({ ...sent, isAgain: true }));
    this.#owed = [...again, ...this.#owed];
    this.flush();
  }

  /** [scaler 4.7] Object requests of the previous connection whose answers may be lost. */
  takeAsked(): readonly (readonly Buffer[])[] {
    return this.#asked.takeAll();
  }

  /** Notes which objects the client requested. */
  asks(ids: readonly Buffer[]): void {
    this.#asked.add(ids.map((id) => Buffer.from(id)));
  }

  /**
   * [scaler 4.7] A heartbeat arrived, so the client has everything that was sent before the last
   * echo.
   */
  beaten(): void {
    this.#asked.beaten();
    this.#told(this.#sent.beaten());
  }

  /** True on the first connection of a client that was known before the restart. */
  get isFirstSinceRestart(): boolean {
    return this.#isRestored && this.connection <= 1;
  }

  detach(): void {
    this.line = undefined;
    this.requester = undefined;
  }

  /** Sends an outcome now, or when the client is back. */
  tell(result: TaskResult, { task, saidOver, whenTold }: OutcomeContext = {}): void {
    const isAgain = this.#isRestored && this.connection === 0;
    const owed: Owed = { result: PackedResult.of(result), isAgain, task, saidOver, whenTold };
    if (this.isDead) return this.#giveUp(owed);
    if (this.#owed.length === 0 && this.#send(owed)) return;
    if (task !== undefined && this.#owed.length >= owedMax) {
      this.#host.post({ type: "outcome-undelivered", task, again: true });
    } else this.#owed.push(owed);
  }

  /** True while the client may still repeat requests of its previous connection. */
  get #isNew(): boolean {
    return this.#host.now().instant < this.#repeatsUntil;
  }

  /**
   * True if a submitted request may repeat one whose outcome was already sent. Only possible on a
   * new connection.
   */
  mayRepeat(): boolean {
    if (this.#repeatable.size > 0 && !this.#isNew) this.#repeatable.clear();
    return this.#repeatable.size > 0;
  }

  /**
   * [scaler 2.5] [scaler 4.4] Returns true if the client sent this request before. `known` is an
   * unfinished request with the same id. If the outcome was sent over this connection, it is sent
   * once more: the client repeats every request once and may not have seen the outcome yet.
   */
  isRepeated(asked: { readonly task: Buffer }, known: OpenRequest | undefined): boolean {
    if (known !== undefined) {
      if (known.client !== this) return false;
      known.saidOver = this.connection;
      return true;
    }
    if (!this.mayRepeat()) return false;
    const key = keyOf(asked.task);
    const told = this.#repeatable.get(key);
    if (told === undefined) return false;
    this.#repeatable.delete(key);
    this.tell(told);
    return true;
  }

  /** Sends what was waiting for a connection or for room on it. */
  flush(): void {
    const owed = this.#owed;
    let sent = 0;
    while (sent < owed.length && this.#send(owed[sent] as Owed)) sent += 1;
    if (sent > 0) this.#owed = owed.slice(sent);
  }

  /** The client will not come back, so outcomes that were not delivered are given up. */
  die(): void {
    this.isDead = true;
    const sent = this.#sent.takeAll();
    if (this.line === undefined) for (const each of sent) this.#giveUp(each);
    else this.#told(sent);
    const owed = this.#owed;
    this.#owed = [];
    for (const each of owed) this.#giveUp(each);
  }

  #send(owed: Owed): boolean {
    const { result, saidOver, isAgain } = owed;
    if (this.line === undefined || !sendPacked(this.line, code.TR, result)) return false;
    if (saidOver !== undefined && saidOver < this.connection) this.#mayBeRepeated(result);
    const object = isAgain ? result.results[0] : undefined;
    // A client that already had this outcome ignores it and does not request the object again. The
    // first answer may have been lost, so the object is sent too.
    if (object !== undefined && this.requester !== undefined) this.#host.push(this.requester, object);
    this.#keep(owed);
    return true;
  }

  #keep(sent: Owed): void {
    const arrived = this.#sent.add(sent);
    if (arrived !== undefined) this.#told([arrived]);
  }

  #told(sent: readonly Owed[]): void {
    const tasks: TaskId[] = [];
    for (const { task, whenTold } of sent) {
      if (task !== undefined) tasks.push(task);
      whenTold?.();
    }
    if (tasks.length > 0) this.#host.post({ type: "outcomes-told", tasks });
  }

  #mayBeRepeated(result: PackedResult): void {
    if (!this.#isNew || this.#repeatable.size >= repeatableMax) return;
    this.#repeatable.set(keyOf(result.task), result);
  }

  #giveUp({ task, whenTold }: Owed): void {
    if (task !== undefined) this.#host.post({ type: "outcome-undelivered", task, again: false });
    whenTold?.();
  }
}
