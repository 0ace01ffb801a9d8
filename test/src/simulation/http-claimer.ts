// A simulated worker that claims its tasks with plain requests, and reports on each by itself.

import type { AttemptNumber, TaskId } from "@yardmaster/core";
import { fail } from "./checker.js";
import { queryOf } from "./http-client.js";
import type { Answer } from "./http-connection.js";
import { show } from "./http-peer.js";
import { type End, HttpWorker, headersOf, heldIn, type Job, pathOf } from "./http-worker.js";

interface ClaimedAttempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly payload: string;
}

const verbs: Readonly<Record<End["type"], string>> = { done: "done", failed: "fail", returned: "return" };

export class ClaimingWorker extends HttpWorker {
  protected join(): void {
    this.#claim();
  }

  #claim(): void {
    const { name, queue, slots, leaseMs } = this.plan;
    const free = slots - this.jobs.size;
    if (free === 0) return this.#claimSoon();
    const max = this.random.integer(1, free);
    const waitMs = this.random.pick([0, 500, 2_000]);
    const isRaw = max === 1 && this.random.chance(0.5);
    const query = { worker: name, max, wait: `${waitMs}ms`, lease: `${leaseMs}ms` };
    const request = {
      path: `/v1/queues/${queue}:claim?${queryOf(query)}`,
      ...(isRaw && { headers: { Accept: "application/octet-stream" } }),
    };
    this.ask(request, (answer) => this.#claimed(answer, isRaw), waitMs);
  }

  #claimSoon(): void {
    this.later(this.random.between(20, 400), () => this.#claim());
  }

  #claimed(answer: Answer | undefined, isRaw: boolean): void {
    this.#claimSoon();
    if (answer === undefined || answer.status === 204) return;
    if (answer.status !== 200) fail(`${this.plan.name}'s claim was answered with ${show(answer)}`);
    if (isRaw) return this.#start({ ...heldIn(answer), payload: answer.body });
    const { attempts } = JSON.parse(answer.body) as { attempts: ClaimedAttempt[] };
    for (const { task, attempt, token, payload } of attempts)
      this.#start({
        task: Number(task) as TaskId,
        attempt: attempt as AttemptNumber,
        token,
        payload: Buffer.from(payload, "base64").toString(),
      });
  }

  #start(job: Omit<Job, "end" | "endedAt">): void {
    this.take(job, true);
    if (this.plan.beats) this.#beatLater(job);
  }

  #beatLater(job: Pick<Job, "task" | "attempt" | "token">): void {
    this.later(this.plan.leaseMs / 3, () => {
      const held = this.jobs.get(job.attempt);
      if (held === undefined || held.end !== undefined) return;
      this.#beatLater(job);
      this.ask({ path: pathOf(job, "beat"), headers: { "Yard-Token": job.token } }, (answer) => {
        if (answer === undefined) return;
        if (answer.status === 401) fail(`${this.plan.name}'s token is refused at a beat`);
        const isOver = answer.status !== 200 || (JSON.parse(answer.body) as { cancel: boolean }).cancel;
        if (isOver) this.giveUp(held);
      });
    });
  }

  protected report(job: Job): void {
    const { end } = job;
    if (end === undefined) return;
    const body = end.type === "done" ? end.result : end.type === "failed" ? '{"message":"drawn"}' : "";
    const request = { path: pathOf(job, verbs[end.type]), body, headers: headersOf(job) };
    this.askUntilAnswered(request, (answer) => this.reported(job, answer.status, show(answer)));
  }
}
