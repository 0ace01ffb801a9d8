// A client as the door sees it: what it has asked for, and what it has not been told yet. It outlives its connections: only
// its goodbye or a long silence ends it [scaler 4.5].

import type { ReplyTo, TaskId } from "@yardmaster/core";
import { writeToClient } from "./codec.js";
import type { ScalerGraph } from "./graph-run.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { LiveTasks } from "./live-task.js";
import type { TaskResult } from "./messages.js";
import type { Asker } from "./object-exchange.js";

/** Outcomes kept for a client that is away or slow; beyond it the core has them told again later. */
const owedMax = 100_000;

interface Owed {
  readonly result: TaskResult;
  /** The core's task that it is the outcome of, where there is one. */
  readonly task: TaskId | undefined;
  readonly whenSent: (() => void) | undefined;
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

  /** Tells an outcome, now or when it is back. */
  tell(result: TaskResult, task?: TaskId, whenSent?: () => void): void {
    const owed: Owed = { result, task, whenSent };
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

  #send({ result, task, whenSent }: Owed): boolean {
    if (this.line?.send(writeToClient(result)) !== true) return false;
    if (task !== undefined) this.#host.post({ type: "outcomes-told", tasks: [task] });
    whenSent?.();
    return true;
  }

  #giveUp({ task, whenSent }: Owed): void {
    if (task !== undefined) this.#host.post({ type: "outcome-undelivered", task, again: false });
    whenSent?.();
  }
}
