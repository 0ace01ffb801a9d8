// Tasks for the engine's benchmarks, as the core would commit them.

import {
  attemptOf,
  type Change,
  type TaskHead,
  type TaskId,
  type TaskProgress,
  type WallTime,
  type WorkerId,
} from "@yardmaster/core";

const payload = { mediaType: "application/octet-stream", size: 200, bytes: Buffer.alloc(200, 1) };
const policy = { attempts: 5, failures: 1, attemptTimeoutMs: 0, waitingMsMax: 0 };

export function acceptedTask(id: number): Change {
  const head: TaskHead = {
    id: id as TaskId,
    queue: `queue-${id % 7}`,
    priority: 0,
    door: id % 3 === 0 ? "http" : "pingpong",
    submittedAt: (id * 10) as WallTime,
    payload,
    policy,
    key: id % 1000 === 0 ? `key-${id}` : undefined,
    fingerprint: undefined,
    replyTo: { address: `client-${id % 64}`, diesWithConnection: false },
    envelope: undefined,
    notBefore: 0,
    expiresAt: 0,
    relations: undefined,
  };
  return { kind: "head", head };
}

/** Waits in the pingpong door's queue, behind everything that its clients submit. */
export function waitingTask(id: number): Change {
  const { head } = acceptedTask(id) as Extract<Change, { kind: "head" }>;
  return {
    kind: "head",
    head: { ...head, queue: "pingpong", door: "http", priority: -1, key: undefined, replyTo: undefined },
  };
}

function progressOf(id: number, given: Partial<TaskProgress>): Change {
  const progress: TaskProgress = {
    id: id as TaskId,
    state: "running",
    attempt: attemptOf(1, id),
    worker: `pingpong/w${id % 1000}` as WorkerId,
    startedAt: (id * 10 + 1) as WallTime,
    finishedAt: undefined,
    losses: 0,
    failures: 0,
    notBefore: 0,
    error: undefined,
    result: undefined,
    told: false,
    settled: 0,
    recovering: false,
    story: undefined,
    ...given,
  };
  return { kind: "progress", progress };
}

export function begunTask(id: number): Change {
  return progressOf(id, {});
}

/** Most are done; one in a hundred failed, one in a million in a rare way. */
export function settledTask(id: number): Change {
  const finishedAt = (id * 10 + 5) as WallTime;
  const common = { finishedAt, told: true, settled: id } as const;
  if (id % 100 !== 0) return progressOf(id, { state: "done", result: payload, ...common });
  const code = id % 1_000_000 === 0 ? "rare" : "reported";
  return progressOf(id, { state: "failed", error: { code, message: `disk ${id} is full` }, ...common });
}

/** Batches in which some tasks are accepted and begun while earlier ones are settled. */
export class TaskFeed {
  #last = 0;
  #before = 0;

  next(count: number): Change[] {
    const changes: Change[] = [];
    for (let id = this.#last + 1; id <= this.#last + count; id++)
      changes.push(acceptedTask(id), begunTask(id));
    for (let id = this.#before + 1; id <= this.#last; id++) changes.push(settledTask(id));
    this.#before = this.#last;
    this.#last += count;
    return changes;
  }
}
