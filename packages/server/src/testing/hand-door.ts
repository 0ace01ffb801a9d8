// For tests: a door that the test controls. It posts what the test says and keeps the effects it
// receives. So a test of another door can submit, cancel, work and read through it.

import type { AttemptNumber, Body, Effect, TaskId, WorkerId, YardEvent } from "@yardmaster/core";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { until } from "./memory-runtime.js";

export class HandDoor implements Door {
  readonly name: string;
  readonly #port: Port;
  readonly #effects: Effect[] = [];
  #lastRequest = 0;
  /** Called with each delivery, in order. */
  onDeliver: (effects: readonly Effect[]) => void = () => {};

  constructor(port: Port) {
    this.#port = port;
    this.name = port.door;
  }

  post(event: YardEvent): void {
    this.#port.post(event);
  }

  /** The next effect of this type, received already or in the future. */
  next<Type extends Effect["type"]>(type: Type): Promise<Extract<Effect, { type: Type }>> {
    return until(() => {
      const index = this.#effects.findIndex((effect) => effect.type === type);
      if (index < 0) return undefined;
      return this.#effects.splice(index, 1)[0] as Extract<Effect, { type: Type }>;
    });
  }

  async submit(queue: string, text: string | Body): Promise<TaskId> {
    this.#lastRequest += 1;
    const bytes = Buffer.from(typeof text === "string" ? text : "");
    const payload = typeof text === "string" ? { mediaType: "text/plain", size: bytes.length, bytes } : text;
    this.post({ type: "task-submitted", request: this.#lastRequest, submission: { queue, payload } });
    const { answer } = await this.next("reply");
    if (answer.type !== "accepted") throw new Error(`not accepted: ${JSON.stringify(answer)}`);
    return answer.task;
  }

  /** Serves a queue with one slot unless told otherwise. */
  join(worker: string, queue: string, slots = 1, runsAtOnce = 1): WorkerId {
    const id = worker as WorkerId;
    const profile = {
      dialect: "hand",
      address: "",
      queues: [queue],
      slots,
      runsAtOnce,
      pulls: false,
      givesBack: false,
    };
    this.post({ type: "worker-joined", worker: id, profile });
    return id;
  }

  /** A worker that receives tasks only when it claims them. */
  joinPulling(worker: WorkerId): void {
    const shape = { slots: 0, runsAtOnce: 1, pulls: true, givesBack: false };
    this.post({
      type: "worker-joined",
      worker,
      profile: { dialect: "hand", address: "", queues: [], ...shape },
    });
  }

  want(worker: WorkerId, queue: string, request: number, forMs = 0): void {
    this.post({ type: "work-claimed", request, worker, queue, max: 10, forMs, leaseMs: 30_000 });
  }

  fail({ worker, task, attempt }: HeldAttempt, code: string, message: string): void {
    this.post({ type: "attempt-failed", worker, task: task.id, attempt, error: { code, message } });
  }

  done({ worker, task, attempt }: HeldAttempt, result: Body): void {
    this.post({ type: "attempt-done", worker, task: task.id, attempt, result });
  }

  open(): Promise<DoorAddresses> {
    return Promise.resolve({});
  }

  deliver(effects: readonly Effect[]): void {
    this.onDeliver(effects);
    this.#effects.push(...effects);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface HeldAttempt {
  readonly worker: WorkerId;
  readonly task: { readonly id: TaskId };
  readonly attempt: AttemptNumber;
}
