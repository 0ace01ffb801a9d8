// Workers that were lost in the last hour, and the fate of the tasks that each held. It learns of a
// task only after one of its attempts was lost, so an ordinary task costs nothing.

import type {
  FinishedStateName,
  SeenAttempt,
  SeenTask,
  TaskId,
  WallTime,
  WorkerView,
} from "@yardmaster/core";

const minuteMs = 60_000;
const keptMinutes = 60;
const keptMs = keptMinutes * minuteMs;
/** Workers beyond it are only counted. */
const workersMax = 200;
/** Maximum number of tasks listed for each worker. All are counted. */
const namedMax = 20;
/**
 * Maximum number of tasks that are followed over all lost workers. Beyond it the oldest are
 * dropped.
 */
const followedMax = 20_000;

export type FateState = FinishedStateName | "waiting" | "running";

export interface Fate {
  readonly id: TaskId;
  readonly queue: string;
  state: FateState;
  worker: string | undefined;
}

export interface LostWorker {
  readonly id: string;
  readonly door: string;
  readonly address: string;
  readonly queues: readonly string[];
  readonly joinedAt: WallTime;
  readonly at: WallTime;
  readonly reason: string;
  readonly held: number;
  /** Some of the tasks it held. */
  readonly tasks: readonly Fate[];
  /** All tasks it held, counted by state. */
  readonly became: ReadonlyMap<string, number>;
}

class Loss implements LostWorker {
  readonly id: string;
  readonly door: string;
  readonly address: string;
  readonly queues: readonly string[];
  readonly joinedAt: WallTime;
  readonly at: WallTime;
  readonly reason: string;
  held = 0;
  readonly tasks: Fate[] = [];
  readonly became = new Map<string, number>();

  constructor({ id, door, address, queues, joinedAt, lostReason = "", lostAt }: WorkerView) {
    this.id = id;
    this.door = door;
    this.address = address;
    this.queues = queues;
    this.joinedAt = joinedAt;
    this.reason = lostReason;
    this.at = lostAt ?? (0 as WallTime);
  }

  count(state: string, by: 1 | -1): void {
    this.became.set(state, (this.became.get(state) ?? 0) + by);
  }
}

interface Followed {
  readonly loss: Loss;
  readonly fate: Fate;
}

export class LossLog {
  readonly #lost: Loss[] = [];
  /** The number of lost workers, by minute of wall time. */
  readonly #counts = new Map<number, number>();
  /**
   * Workers that were just lost and whose attempts are still ending. A worker that is assigned a
   * task is back.
   */
  readonly #ending = new Map<string, Loss>();
  /** A task may be lost with several workers in turn. */
  readonly #followed = new Map<TaskId, Followed[]>();

  workerLost(worker: WorkerView): void {
    const loss = new Loss(worker);
    this.#lost.push(loss);
    const minute = minuteOf(loss.at);
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + 1);
    if (this.#lost.length > workersMax) this.#lost.shift();
    this.#ending.set(worker.id, loss);
  }

  /** Records a lost attempt, with its worker if that was just lost. */
  attemptLost({ task, workerId }: SeenAttempt): void {
    this.#move(task.head.id, "waiting", undefined);
    const loss = this.#ending.get(workerId);
    if (loss === undefined) return;
    const fate: Fate = { id: task.head.id, queue: task.head.queue, state: "waiting", worker: undefined };
    loss.held += 1;
    loss.count("waiting", 1);
    if (loss.tasks.length < namedMax) loss.tasks.push(fate);
    this.#follow(fate, loss);
  }

  began({ task, workerId }: SeenAttempt): void {
    if (this.#ending.size > 0) this.#ending.delete(workerId);
    if (task.losses > 0) this.#move(task.head.id, "running", workerId);
  }

  finished({ head, losses }: SeenTask, state: FinishedStateName, by: SeenAttempt | undefined): void {
    if (losses === 0) return;
    // The task was lost too often and ended together with its worker.
    if (by !== undefined && this.#ending.has(by.workerId)) this.attemptLost(by);
    this.#move(head.id, state, by?.workerId);
    this.#followed.delete(head.id);
  }

  /** Newest first. */
  since(from: WallTime): readonly LostWorker[] {
    return this.#lost.filter(({ at }) => at >= from).reverse();
  }

  /** Workers lost in the last hour, to the minute, also those that are no longer listed. */
  countInHour(now: WallTime): number {
    const from = minuteOf(now) - keptMinutes;
    let count = 0;
    for (const [minute, lost] of this.#counts) if (minute > from) count += lost;
    return count;
  }

  /** Drops old entries. Call it between turns, when the attempts of lost workers have ended. */
  tidy(now: WallTime): void {
    this.#ending.clear();
    while (this.#lost[0] !== undefined && this.#lost[0].at < now - keptMs) this.#lost.shift();
    for (const minute of this.#counts.keys())
      if (minute <= minuteOf(now) - keptMinutes) this.#counts.delete(minute);
  }

  #follow(fate: Fate, loss: Loss): void {
    this.#followed.set(fate.id, [...(this.#followed.get(fate.id) ?? []), { loss, fate }]);
    if (this.#followed.size <= followedMax) return;
    const [oldest] = this.#followed.keys();
    if (oldest !== undefined) this.#followed.delete(oldest);
  }

  #move(task: TaskId, state: FateState, worker: string | undefined): void {
    for (const { loss, fate } of this.#followed.get(task) ?? []) {
      loss.count(fate.state, -1);
      loss.count(state, 1);
      fate.state = state;
      fate.worker = worker;
    }
  }
}

function minuteOf(time: WallTime): number {
  return Math.floor(time / minuteMs);
}
