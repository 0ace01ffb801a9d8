// A client as the door sees it: what it has asked for, what it has not been told yet, and what it was told and may say again.
// It outlives its connections: only its goodbye or a long silence ends it [scaler 4.5].

import { after, type Instant, type ReplyTo, type TaskId } from "@yardmaster/core";
import { ownBytes } from "../body.js";
import { writeToClient } from "./codec.js";
import type { ScalerGraph } from "./graph-run.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { LiveTasks } from "./live-task.js";
import type { TaskResult } from "./messages.js";
import type { Asker } from "./object-exchange.js";
import { keyOf } from "./objects.js";

/** Outcomes kept for a client that is away or slow; beyond it the core has them told again later. */
const owedMax = 100_000;
/** [scaler 4.4] After it came: what it has not said again by then it has no reason to say again. */
const repeatsForMs = 60_000;
const repeatableMax = 100_000;

/** What else there is to an outcome. */
interface About {
  /** The core's task that it is the outcome of, where there is one. */
  readonly task?: TaskId | undefined;
  /** Over which connection the client asked for it, or said so again. Absent where it will not say it again. */
  readonly saidOver?: number | undefined;
  readonly whenSent?: () => void;
}

/** A task or a graph that is not over. */
interface Asked {
  readonly client: ScalerDoorClient;
  /** Over which of the client's connections it was said last. */
  saidOver: number;
}

interface Owed extends About {
  readonly result: TaskResult;
}

export class ScalerDoorClient {
  readonly role = "client";
  readonly key: string;
  readonly id: Buffer;
  readonly name: string;
  readonly replyTo: ReplyTo;
  readonly tasks = new LiveTasks();
  readonly graphs = new Set<ScalerGraph>();
  readonly #host: ScalerHost;
  #owed: Owed[] = [];
  /** [scaler 4.4] Told over this connection, and asked for over an earlier one. */
  readonly #repeatable = new Map<string, TaskResult>();
  #repeatsUntil = 0 as Instant;
  /** 0 before the first of this life. */
  connection = 0;
  line: ScalerLine | undefined = undefined;
  asker: Asker | undefined = undefined;
  isDead = false;

  constructor(key: string, id: Buffer, name: string, host: ScalerHost) {
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
    this.flush();
  }

  detach(): void {
    this.line = undefined;
    this.asker = undefined;
  }

  /** Tells an outcome, now or when it is back. */
  tell(result: TaskResult, about: About = {}): void {
    const owed: Owed = { result, ...about };
    const { task } = about;
    if (this.isDead) return this.#giveUp(owed);
    if (this.#owed.length === 0 && this.#send(owed)) return;
    if (task !== undefined && this.#owed.length >= owedMax) {
      this.#host.post({ type: "outcome-undelivered", task, again: true });
    } else this.#owed.push(owed);
  }

  /** The same of the core's outcome as it is on the wire; false when it cannot be told now. */
  tellPacked(bytes: Buffer, length: number, task: TaskId): boolean {
    if (this.isDead || this.#owed.length > 0 || this.line?.sendPacked(bytes, 0, length) !== true)
      return false;
    this.#host.post({ type: "outcomes-told", tasks: [task] });
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
    const owed = this.#owed;
    this.#owed = [];
    for (const each of owed) this.#giveUp(each);
  }

  #send({ result, task, saidOver, whenSent }: Owed): boolean {
    if (this.line?.send(writeToClient(result)) !== true) return false;
    if (saidOver !== undefined && saidOver < this.connection) this.#mayBeRepeated(result);
    if (task !== undefined) this.#host.post({ type: "outcomes-told", tasks: [task] });
    whenSent?.();
    return true;
  }

  #mayBeRepeated(result: TaskResult): void {
    if (!this.#isNew || this.#repeatable.size >= repeatableMax) return;
    const { task, results } = result;
    const own = { ...result, task: ownBytes(task), results: results.map(ownBytes) };
    this.#repeatable.set(keyOf(task), own);
  }

  #giveUp({ task, whenSent }: Owed): void {
    if (task !== undefined) this.#host.post({ type: "outcome-undelivered", task, again: false });
    whenSent?.();
  }
}
