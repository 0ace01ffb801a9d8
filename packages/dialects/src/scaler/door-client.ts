// A client as the door sees it: what it has asked for, what it has not been told yet, and what it was told and may say again.
// It outlives its connections: only its goodbye or a long silence ends it [scaler 4.5].

import { after, type Instant, type ReplyTo, type TaskId } from "@yardmaster/core";
import { ownBytes } from "../body.js";
import type { ResultBody } from "./bodies.js";
import { writeToClient } from "./codec.js";
import type { ScalerGraph } from "./graph-run.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { LiveTasks } from "./live-task.js";
import type { TaskResult } from "./messages.js";
import type { Asker } from "./object-exchange.js";
import { keyOf } from "./objects.js";
import type { TaskBody } from "./task-body.js";
import { Unconfirmed } from "./unconfirmed.js";

/** Outcomes kept for a client that is away or slow; beyond it the core has them told again later. */
const owedMax = 100_000;
/** [scaler 4.4] After it came: what it has not said again by then it has no reason to say again. */
const repeatsForMs = 60_000;
const repeatableMax = 100_000;
/** [scaler 4.7] Beyond it the oldest counts as arrived: more than real clients are told between two heartbeats. */
const unconfirmedMax = 10_000;

/** What else there is to an outcome. */
interface About {
  /** The core's task that it is the outcome of, where there is one. */
  readonly task?: TaskId | undefined;
  /** Over which connection the client asked for it, or said so again. Absent where it will not say it again. */
  readonly saidOver?: number | undefined;
  /** It has arrived, or never will. */
  readonly whenTold?: () => void;
}

/** A task or a graph that is not over. */
interface Asked {
  readonly client: ScalerDoorClient;
  /** Over which of the client's connections it was said last. */
  saidOver: number;
}

interface Owed extends About {
  readonly result: TaskResult;
  /** [scaler 4.7] The client may have been told before, and wait for the object alone. */
  readonly isAgain: boolean;
}

/** An outcome that left as it is on the wire. */
interface SentPacked {
  readonly task: TaskId;
  readonly body: TaskBody;
  readonly result: ResultBody;
  readonly saidOver: number;
  readonly whenTold?: undefined;
}

export interface ClientHost extends ScalerHost {
  /** Hands out an object that was not asked for over this connection; nothing if it is not there. */
  push(asker: Asker, id: Buffer): void;
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
  /** [scaler 4.7] Outcomes that were sent over this connection. */
  readonly #sent = new Unconfirmed<Owed | SentPacked>(unconfirmedMax, 1);
  /** And the ids it asked for: an answer may wait for an object, so it has an echo more to arrive. */
  readonly #asked = new Unconfirmed<readonly Buffer[]>(unconfirmedMax, 2);
  /** It is known from an earlier life, which may have told it what this one tells it first. */
  readonly #isRestored: boolean;
  /** [scaler 4.4] Told over this connection, and asked for over an earlier one. */
  readonly #repeatable = new Map<string, TaskResult>();
  #repeatsUntil = 0 as Instant;
  /** 0 before the first of this life. */
  connection = 0;
  line: ScalerLine | undefined = undefined;
  asker: Asker | undefined = undefined;
  isDead = false;

  constructor(key: string, id: Buffer, name: string, host: ClientHost, isRestored = false) {
    this.#isRestored = isRestored;
    this.key = key;
    this.id = id;
    this.name = name;
    this.replyTo = { address: name, isFleeting: false };
    this.#host = host;
  }

  /** There is a new connection; the one before, if there was one, is over. */
  attach(line: ScalerLine): void {
    this.line = line;
    this.asker = { line, wire: "r", hasSplitCounts: false, virtual: () => undefined };
    this.connection += 1;
    this.#repeatable.clear();
    this.#repeatsUntil = after(this.#host.now().instant, repeatsForMs);
    const again = this.#sent.takeAll().map((sent) => ({ ...asOwed(sent), isAgain: true }));
    this.#owed = [...again, ...this.#owed];
    this.flush();
  }

  /** [scaler 4.7] What it asked for over the connection before and may not have got. */
  takeAsked(): readonly (readonly Buffer[])[] {
    return this.#asked.takeAll();
  }

  /** It asks for objects. */
  asks(ids: readonly Buffer[]): void {
    this.#asked.add(ids.map((id) => Buffer.from(id)));
  }

  /** [scaler 4.7] It has beaten, so it has what was sent before the last echo. */
  beaten(): void {
    this.#asked.beaten();
    this.#told(this.#sent.beaten());
  }

  /** Whether this is the first connection of a client that an earlier life knew. */
  get isFirstSinceRestart(): boolean {
    return this.#isRestored && this.connection <= 1;
  }

  detach(): void {
    this.line = undefined;
    this.asker = undefined;
  }

  /** Tells an outcome, now or when it is back. */
  tell(result: TaskResult, about: About = {}): void {
    const isAgain = this.#isRestored && this.connection === 0;
    const owed: Owed = { result, isAgain, ...about };
    const { task } = about;
    if (this.isDead) return this.#giveUp(owed);
    if (this.#owed.length === 0 && this.#send(owed)) return;
    if (task !== undefined && this.#owed.length >= owedMax) {
      this.#host.post({ type: "outcome-undelivered", task, again: true });
    } else this.#owed.push(owed);
  }

  /** The same of the core's outcome as it is on the wire; false when it cannot be told now. */
  tellPacked(
    bytes: Buffer,
    length: number,
    about: { readonly task: TaskId; readonly body: TaskBody; readonly result: ResultBody },
  ): boolean {
    if (this.isDead || this.#owed.length > 0 || this.line?.sendPacked(bytes, 0, length) !== true)
      return false;
    const { task, body, result } = about;
    this.#keep({ task, body, result, saidOver: this.connection });
    return true;
  }

  /** The connection, as far as what the client says again is concerned. */
  get #isNew(): boolean {
    return this.#host.now().instant < this.#repeatsUntil;
  }

  /** Whether what it submits may be something that it was told of; over a connection that is no longer new it is not. */
  mayRepeat(): boolean {
    if (this.#repeatable.size > 0 && !this.#isNew) this.#repeatable.clear();
    return this.#repeatable.size > 0;
  }

  /**
   * [scaler 2.5] [scaler 4.4] Whether it has said this before. `known`: what has this id and is not over. What is over is told
   * again if that was told over this connection, once: the client says everything again once, and may not have known it.
   */
  isRepeated(id: Buffer, known: Asked | undefined): boolean {
    if (known !== undefined) {
      if (known.client !== this) return false;
      known.saidOver = this.connection;
      return true;
    }
    if (!this.mayRepeat()) return false;
    const key = keyOf(id);
    const told = this.#repeatable.get(key);
    if (told === undefined) return false;
    this.#repeatable.delete(key);
    this.tell(told);
    return true;
  }

  /** There is a connection, or room on it, again. */
  flush(): void {
    const owed = this.#owed;
    let sent = 0;
    while (sent < owed.length && this.#send(owed[sent] as Owed)) sent += 1;
    if (sent > 0) this.#owed = owed.slice(sent);
  }

  /** Nobody will come for it. */
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
    if (this.line?.send(writeToClient(result)) !== true) return false;
    if (saidOver !== undefined && saidOver < this.connection) this.#mayBeRepeated(result);
    const [object] = result.results;
    // One that has had the outcome drops it now, and asks for the object once only: that may have been lost.
    if (isAgain && object !== undefined && this.asker !== undefined) this.#host.push(this.asker, object);
    this.#keep(owed);
    return true;
  }

  #keep(sent: Owed | SentPacked): void {
    const arrived = this.#sent.add(sent);
    if (arrived !== undefined) this.#told([arrived]);
  }

  #told(sent: readonly (Owed | SentPacked)[]): void {
    const tasks: TaskId[] = [];
    for (const { task, whenTold } of sent) {
      if (task !== undefined) tasks.push(task);
      whenTold?.();
    }
    if (tasks.length > 0) this.#host.post({ type: "outcomes-told", tasks });
  }

  #mayBeRepeated(result: TaskResult): void {
    if (!this.#isNew || this.#repeatable.size >= repeatableMax) return;
    const { task, results } = result;
    const own = { ...result, task: ownBytes(task), results: results.map(ownBytes) };
    this.#repeatable.set(keyOf(task), own);
  }

  #giveUp({ task, whenTold }: Owed | SentPacked): void {
    if (task !== undefined) this.#host.post({ type: "outcome-undelivered", task, again: false });
    whenTold?.();
  }
}

function asOwed(sent: Owed | SentPacked): Omit<Owed, "isAgain"> {
  if (!("body" in sent)) return sent;
  const { task, saidOver, body, result } = sent;
  const { bytes, taskAt, taskEnd } = body;
  const [metadata, id] = [result.metadataHex, result.idHex].map((hex) => Buffer.from(hex, "hex"));
  const named = { metadata: metadata as Buffer, results: [id as Buffer] };
  const told: TaskResult = {
    ...{ type: "task-result", task: bytes.subarray(taskAt, taskEnd), status: "S" },
    ...named,
  };
  return { result: told, task, saidOver };
}
