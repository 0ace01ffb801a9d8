// Puts tasks and other records into an engine that another process does not use.

import { setTimeout as pause } from "node:timers/promises";
import type { Body, Change, TaskId } from "@yardmaster/core";
import { StoreFault } from "../embedded/store-faults.js";
import type { BodyPart, Engine } from "../engine.js";
import type { Taker, WholeTask } from "./reading.js";

/** As often and as long as a dispatcher tries, if the engine does not say. */
const retry = { everyMs: 200, forMs: 60_000 };

export class StoreWriter implements Taker {
  readonly #engine: Engine;
  readonly #epoch: number;
  #batches = 0;

  constructor(engine: Engine, epoch: number) {
    this.#engine = engine;
    this.#epoch = epoch;
  }

  readonly tasks = async (tasks: readonly WholeTask[]): Promise<void> => {
    await Promise.all(
      tasks.flatMap(({ task: { head, progress }, payload, result }) => [
        this.#putOutside(head.id, "payload", head.payload, payload),
        progress?.result && this.#putOutside(head.id, "result", progress.result, result as Body),
      ]),
    );
    await this.others(
      tasks.flatMap(({ task: { head, progress } }): Change[] =>
        progress === undefined
          ? [{ kind: "head", head }]
          : [
              { kind: "head", head },
              { kind: "progress", progress },
            ],
      ),
    );
  };

  /** Resolves when they are durable, and when the engine has room for more. */
  readonly others = async (changes: readonly Change[]): Promise<void> => {
    const { everyMs, forMs } = this.#engine.retry ?? retry;
    const batch = { epoch: this.#epoch, number: ++this.#batches, changes };
    for (const end = performance.now() + forMs; ; ) {
      const outcome = await this.#engine.commit(batch);
      if (outcome.type === "done") break;
      const isPassing = outcome.type === "unknown" || outcome.type === "unavailable";
      if (!isPassing || performance.now() > end) {
        throw new StoreFault(outcome.type === "full" ? "full" : "failed", outcome.message);
      }
      await pause(everyMs);
    }
    await this.#engine.whenCaughtUp?.();
  };

  /** `recorded`: the body as the record has it, which may be without its bytes. */
  async #putOutside(task: TaskId, part: BodyPart, recorded: Body, body: Body): Promise<void> {
    const isInside = recorded.bytes !== undefined && body.size <= this.#engine.inlineBytesMax;
    if (!isInside) await this.#engine.putBody(task, part, body);
  }
}
