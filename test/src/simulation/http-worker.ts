// What simulated http workers share, whether they claim their tasks or get them on a stream: jobs
// that take time, how each ends, and answers that come late or twice.

import type { AttemptNumber, TaskId } from "@yardmaster/core";
import { type Checker, fail, type HeldAttempt } from "./checker.js";
import type { Answer } from "./http-connection.js";
import { HttpPeer, type HttpPeerPlan, show } from "./http-peer.js";

export interface WorkerPlan extends HttpPeerPlan {
  readonly slots: number;
  readonly leaseMs: number;
  /** False if it renews no lease, so that long work is answered too late. */
  readonly beats: boolean;
  readonly failShare: number;
  readonly returnShare: number;
  readonly workMsMax: number;
}

export interface Job extends HeldAttempt {
  readonly token: string;
  readonly payload: string;
  end: End | undefined;
  endedAt: number;
}

export type End =
  | { readonly type: "done"; readonly result: string }
  | { readonly type: "failed" }
  | { readonly type: "returned" };

export abstract class HttpWorker extends HttpPeer<Checker, WorkerPlan> {
  protected readonly jobs = new Map<AttemptNumber, Job>();

  /** Starts without memory. */
  protected begin(): void {
    this.jobs.clear();
    this.join();
  }

  protected abstract join(): void;
  /** Reports the end of a job. */
  protected abstract report(job: Job): void;

  /** Ends in order: says goodbye, and holds nothing any more. */
  leave(): void {
    this.jobs.clear();
    this.ask({ path: `/v1/workers/${encodeURIComponent(`http/${this.plan.name}`)}:leave` }, (answer) => {
      if (answer !== undefined && ![204, 404].includes(answer.status))
        fail(`${this.plan.name}'s goodbye was answered with ${show(answer)}`);
    });
  }

  /** Claims to have done another worker's attempt, with a token that it made up. */
  forge({ task, attempt }: HeldAttempt, holder: string, payload: string): void {
    const name = Buffer.from(holder).toString("base64url");
    const seal = Buffer.alloc(32, 7).toString("base64url");
    const token = this.random.chance(0.5) ? `${name}.4000.${seal}` : `w.${name}.4000.${seal}`;
    const result = `${attempt} ${payload} ${this.plan.name}`;
    const isBatch = this.random.chance(0.3);
    const headers = { "Yard-Token": token, "Content-Type": "text/plain" };
    const request = isBatch
      ? { path: "/v1/attempts:batch", body: JSON.stringify({ task: String(task), attempt, result }), headers }
      : { path: `/v1/tasks/${task}/attempts/${attempt}:done`, body: result, headers };
    this.ask(request, (answer) => {
      if (answer === undefined) return;
      const item = isBatch ? (JSON.parse(answer.body) as { items: { status?: number }[] }).items[0] : answer;
      if (item?.status !== 401)
        fail(`a token that ${this.plan.name} made up was answered with ${show(answer)}`);
    });
  }

  protected take(job: Omit<Job, "end" | "endedAt">, isClaimed: boolean): void {
    const { world, random, checker, plan } = this;
    checker.workArrived(plan.name, job, { payload: job.payload, at: world.time, isClaimed });
    const held: Job = { ...job, end: undefined, endedAt: 0 };
    this.jobs.set(job.attempt, held);
    this.later(random.between(1, plan.workMsMax), () => this.#finish(held));
  }

  protected resultOf({ attempt, payload }: Pick<Job, "attempt" | "payload">): string {
    return `${attempt} ${payload} ${this.plan.name}`;
  }

  #finish(job: Job): void {
    const { failShare, returnShare } = this.plan;
    if (this.random.chance(failShare)) this.end(job, { type: "failed" });
    else if (this.random.chance(returnShare)) this.end(job, { type: "returned" });
    else this.end(job, { type: "done", result: this.resultOf(job) });
  }

  protected end(job: Job, end: End): void {
    if (this.jobs.get(job.attempt) !== job || job.end !== undefined) return;
    job.end = end;
    job.endedAt = this.world.time;
    this.report(job);
  }

  /** The dispatcher says that it need not go on. */
  protected giveUp(job: Job): void {
    this.end(job, { type: "returned" });
  }

  /** The report was answered with this status. */
  protected reported(job: Job, status: number, why: string): void {
    if (this.jobs.get(job.attempt) !== job) return;
    if (status === 401) fail(`${this.plan.name}'s own token for attempt ${job.attempt} is refused: ${why}`);
    if (![200, 409].includes(status))
      fail(`${this.plan.name}'s report on attempt ${job.attempt} was answered with ${why}`);
    this.jobs.delete(job.attempt);
    if (job.end?.type !== "done") return;
    this.checker.answered(this.plan.name, job, status === 200, job.endedAt);
    if (status === 200 && this.random.chance(0.15)) this.#contradict(job);
  }

  /** A second result for the same attempt never counts. */
  #contradict(job: Job): void {
    this.ask(
      { path: pathOf(job, "done"), body: `${this.resultOf(job)} again`, headers: headersOf(job) },
      (answer) => {
        if (answer !== undefined && answer.status !== 409)
          fail(`a second result of attempt ${job.attempt} was answered with ${show(answer)}`);
      },
    );
  }
}

export function pathOf({ task, attempt }: HeldAttempt, verb: string): string {
  return `/v1/tasks/${task}/attempts/${attempt}:${verb}`;
}

export function headersOf({ token }: Pick<Job, "token">): Record<string, string> {
  return { "Yard-Token": token, "Content-Type": "text/plain" };
}

export function heldIn(answer: Answer): { task: TaskId; attempt: AttemptNumber; token: string } {
  const header = (name: string) => answer.headers.get(name) ?? fail(`a claim without ${name}`);
  return {
    task: Number(header("yard-task")) as TaskId,
    attempt: Number(header("yard-attempt")) as AttemptNumber,
    token: header("yard-token"),
  };
}
