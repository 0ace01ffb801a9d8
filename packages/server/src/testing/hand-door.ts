// For tests: a door worked by hand. It posts what the test says and keeps what it is handed, as any other door's peers
// would: so a test of one door can submit, cancel, work and read beside it.

import type { AttemptNumber, Body, Effect, TaskId, WorkerId, YardEvent } from "@yardmaster/core";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { until } from "./memory-runtime.js";

export class HandDoor implements Door {
  readonly name = "hand";
  readonly #port: Port;
  readonly #effects: Effect[] = [];
  #lastRequest = 0;
  /** Sees what is delivered, in order. */
  onDeliver: (effects: readonly Effect[]) => void = () => {};

  constructor(port: Port) {
    this.#port = port;
  }

  post(event: YardEvent): void {
    this.#port.post(event);
  }

  /** The next effect of a kind that it was or will be handed. */
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

  /** Serves a queue by hand, a task at a time unless it is to have more slots. */
  join(worker: string, queue: string, slots = 1): WorkerId {
    const id = worker as WorkerId;
    const profile = {
      dialect: "hand",
      address: "",
      queues: [queue],
      slots,
      runsAtOnce: 1,
      pulls: false,
      givesBack: false,
    };
    this.post({ type: "worker-joined", worker: id, profile });
    return id;
  }

  /** A worker that is given work only when it asks. */
  joinPulling(worker: WorkerId): void {
    const shape = { slots: 0, runsAtOnce: 1, pulls: true, givesBack: false };
    this.post({
      type: "worker-joined",
      worker,
      profile: { dialect: "hand", address: "", queues: [], ...shape },
    });
  }

  want(worker: WorkerId, queue: string, request: number, forMs = 0): void {
    this.post({ type: "work-wanted", request, worker, queue, max: 10, forMs, leaseMs: 30_000 });
  }

  fail({ worker, task, attempt }: Held, code: string, message: string): void {
    this.post({ type: "attempt-failed", worker, task: task.id, attempt, error: { code, message } });
  }

  done({ worker, task, attempt }: Held, result: Body): void {
    this.post({ type: "attempt-done", worker, task: task.id, attempt, result });
  }

  open(): Promise<DoorAddresses> {
    return Promise.resolve({});
  }

  deliver(effects: readonly Effect[]): void {
    this.onDeliver(effects);
    this.#effects.push(...effects);
  }

  handleTimeout(): void {}

  nextDeadline(): undefined {
    return undefined;
  }

  stopAccepting(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface Held {
  readonly worker: WorkerId;
  readonly task: { readonly id: TaskId };
  readonly attempt: AttemptNumber;
}
