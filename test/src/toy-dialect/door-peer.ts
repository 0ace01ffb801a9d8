// Our end: one connection as the door sees it, between messages and core events. A peer that says
// it is ready is a worker.

import type { AttemptNumber, Effect, RequestAnswer, RequestId, TaskId, YardEvent } from "@yardmaster/core";
import { workerIdOf } from "@yardmaster/core";
import { bodyOf, bytesOf } from "@yardmaster/dialects";
import type { ToyMessage, ToyVerb } from "./codec.js";

export interface ToyDoorHost {
  readonly queue: string;
  post(event: YardEvent): void;
  request(take: (answer: RequestAnswer) => void): RequestId;
  /** False if the peer is gone or has no room. */
  send(message: ToyMessage): boolean;
}

export class ToyDoorPeer {
  readonly #host: ToyDoorHost;
  readonly #name: string;
  #isWorker = false;

  /** `name` is unique among all connections, also those before a restart. */
  constructor(host: ToyDoorHost, name: string) {
    this.#host = host;
    this.#name = name;
  }

  /** False if the message makes no sense at a door. */
  receive({ verb, id, body }: ToyMessage): boolean {
    if (verb === "submit") this.#submit(id, body);
    else if (verb === "ready") this.#join();
    else return (verb === "done" || verb === "failed") && this.#finish(verb, id, body);
    return true;
  }

  assign({ task, attempt }: Extract<Effect, { type: "assign" }>): void {
    this.#host.send({ verb: "run", id: `${task.id}.${attempt}`, body: bytesOf(task.payload) });
  }

  tell({ task, outcome: { state, result, error } }: Extract<Effect, { type: "tell" }>): void {
    const verb: ToyVerb = state === "done" ? "done" : "failed";
    const body = verb === "done" ? bytesOf(result) : Buffer.from(error?.message ?? state);
    const isSent = this.#host.send({ verb, id: Buffer.from(task.envelope ?? []).toString(), body });
    if (isSent) this.#host.post({ type: "outcomes-told", tasks: [task.id] });
    else this.#host.post({ type: "outcome-undelivered", task: task.id, again: true });
  }

  left(): void {
    const worker = workerIdOf("toy", this.#name);
    if (this.#isWorker) this.#host.post({ type: "worker-left", worker, reason: "connection_closed" });
  }

  #submit(id: string, payload: Buffer): void {
    const request = this.#host.request((answer) => {
      const isRefused = answer.type === "refused";
      const body = Buffer.from(isRefused ? answer.message : "");
      this.#host.send({ verb: isRefused ? "refused" : "accepted", id, body });
    });
    const replyTo = { address: this.#name, diesWithConnection: true };
    const { queue } = this.#host;
    const submission = { queue, payload: bodyOf(payload), replyTo, envelope: Buffer.from(id) };
    this.#host.post({ type: "task-submitted", request, submission });
  }

  #join(): void {
    this.#isWorker = true;
    const [worker, address, queues] = [workerIdOf("toy", this.#name), this.#name, [this.#host.queue]];
    const habits = { slots: 1, runsAtOnce: 1, pulls: false, givesBack: false };
    this.#host.post({
      type: "worker-joined",
      worker,
      profile: { dialect: "toy", address, queues, ...habits },
    });
  }

  /** The core checks that this worker holds this attempt. */
  #finish(verb: "done" | "failed", id: string, body: Buffer): boolean {
    if (!/^\d{1,15}\.\d{1,15}$/.test(id)) return false;
    const [task, attempt] = id.split(".").map(Number) as [TaskId, AttemptNumber];
    const ref = { worker: workerIdOf("toy", this.#name), task, attempt };
    const error = { code: "failed", message: body.toString() };
    if (verb === "done") this.#host.post({ type: "attempt-done", ...ref, result: bodyOf(body) });
    else this.#host.post({ type: "attempt-failed", ...ref, error });
    return true;
  }
}
