// Random changes like those of a busy core: tasks are accepted, run, lost, finished, told late,
// settled and trimmed, and keys expire. They follow the core's rules, on which the store relies:
// ids and positions in history rise, and only whole segments are trimmed.

import {
  type Change,
  historyLaneSegments,
  historySegmentOf,
  historySegmentSize,
  type TaskId,
  type WallTime,
  type WorkerId,
} from "@yardmaster/core";
import { bodyOf, headOf, progressOf, put } from "../../conformance/samples.js";
import type { SeededRandom } from "./random.js";

interface YardTask {
  readonly id: TaskId;
  readonly key: string | undefined;
  readonly lane: number;
  state: "waiting" | "running" | "ended";
  worker: WorkerId | undefined;
  finishedAt: number;
  settled: number;
  /**
   * Number of entries in its story, so that a record that is put again differs from the one before.
   */
  turns: number;
}

interface Lane {
  last: number;
  /** The segments that have members, rising. */
  segments: number[];
}

/** Sizes below and above what fits into a bundle. */
const payloads = ["", "x", "y".repeat(900), "z".repeat(3000)];

export interface YardState {
  lastId: number;
  clock: number;
  /** Tasks that the core holds. */
  live: Map<TaskId, YardTask>;
  /** Settled tasks whose records may still be put again. */
  lingering: YardTask[];
  keys: { readonly queue: string; readonly key: string; readonly task: TaskId }[];
  lanes: Lane[];
}

export class RandomYard {
  readonly #random: SeededRandom;
  #state: YardState = {
    lastId: 0,
    clock: 1,
    live: new Map(),
    lingering: [],
    keys: [],
    lanes: [0, 1].map((lane) => ({ last: lane * historyLaneSegments * historySegmentSize, segments: [] })),
  };

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** The state before a turn, to go back to if the turn's batch was lost with its process. */
  save(): YardState {
    return structuredClone(this.#state);
  }

  goBack(state: YardState): void {
    this.#state = state;
  }

  /** The changes of one turn. */
  turn(): Change[] {
    const changes: Change[] = [];
    const count = 1 + this.#random.below(this.#random.chance(0.2) ? 24 : 6);
    for (let left = count; left > 0; left--) changes.push(...this.#change());
    return changes;
  }

  /** The first changes after a restart: running tasks wait for their workers to return. */
  restart(): Change[] {
    const running = [...this.#state.live.values()].filter(({ state }) => state === "running");
    return running.map((task) => {
      task.state = "waiting";
      return this.#progress(task, { recovering: true });
    });
  }

  #change(): Change[] {
    const random = this.#random;
    const dice = random.next();
    if (dice < 0.3) return this.#submit();
    if (dice < 0.45) return this.#start();
    if (dice < 0.5) return this.#lose();
    if (dice < 0.75) return this.#finish();
    if (dice < 0.82) return this.#settleLate();
    if (dice < 0.88) return this.#putAgain();
    if (dice < 0.93) return this.#trim();
    if (dice < 0.97) return this.#forgetKey();
    const name = random.chance(0.5) ? "pulse" : "udp";
    this.#state.clock += 1;
    return [{ kind: "door", door: { name, incarnation: 1, mark: this.#state.clock } }];
  }

  #submit(): Change[] {
    const random = this.#random;
    this.#state.lastId += random.chance(0.02) ? 1 + random.below(20_000) : 1;
    const id = this.#state.lastId as TaskId;
    const key = random.chance(0.3) ? `k${id}` : undefined;
    const lane = random.chance(0.2) ? 1 : 0;
    const queue = lane === 1 ? "apart" : "render";
    const payload = bodyOf(random.pick(payloads) ?? "");
    const task: YardTask = {
      id,
      key,
      lane,
      state: "waiting",
      worker: undefined,
      finishedAt: 0,
      settled: 0,
      turns: 0,
    };
    this.#state.live.set(id, task);
    return [put(headOf(id, { queue, key, payload }))];
  }

  #pickLive(state: YardTask["state"]): YardTask | undefined {
    const tasks = [...this.#state.live.values()].filter((task) => task.state === state);
    // Mostly an old one, as a queue does; sometimes any.
    return this.#random.chance(0.7) ? tasks[0] : this.#random.pick(tasks);
  }

  #start(): Change[] {
    const task = this.#pickLive("waiting");
    if (task === undefined) return [];
    task.state = "running";
    task.worker = `udp/w${this.#random.below(3)}` as WorkerId;
    return [this.#progress(task)];
  }

  #lose(): Change[] {
    const task = this.#pickLive("running");
    if (task === undefined) return [];
    task.state = "waiting";
    return [this.#progress(task, { losses: 1 })];
  }

  #finish(): Change[] {
    const task = this.#pickLive(this.#random.chance(0.9) ? "running" : "waiting");
    if (task === undefined) return [];
    task.state = "ended";
    task.finishedAt = ++this.#state.clock;
    const aged = this.#ageKey(task);
    if (this.#random.chance(0.7)) this.#enterHistory(task);
    return [...aged, this.#progress(task)];
  }

  #ageKey({ id, key, lane, finishedAt }: YardTask): Change[] {
    if (key === undefined) return [];
    const queue = lane === 1 ? "apart" : "render";
    this.#state.keys.push({ queue, key, task: id });
    const record = { queue, key, task: id, fingerprint: undefined, finishedAt: finishedAt as WallTime };
    return [{ kind: "key", key: record }];
  }

  #settleLate(): Change[] {
    const task = this.#pickLive("ended");
    if (task === undefined) return [];
    this.#enterHistory(task);
    return [this.#progress(task)];
  }

  #enterHistory(task: YardTask): void {
    const lane = this.#state.lanes[task.lane] as Lane;
    lane.last += 1;
    const segment = historySegmentOf(lane.last);
    if (lane.segments.at(-1) !== segment) lane.segments.push(segment);
    task.settled = lane.last;
    this.#state.live.delete(task.id);
    this.#state.lingering.push(task);
    if (this.#state.lingering.length > 16) this.#state.lingering.shift();
    // A segment may end early, as it does under a small retention limit.
    if (this.#random.chance(0.2)) lane.last = (segment + 1) * historySegmentSize;
  }

  /**
   * A late answer in the story of a settled task, or a correction. The task may be evicted by now.
   */
  #putAgain(): Change[] {
    const task = this.#random.pick(this.#state.lingering);
    return task === undefined ? [] : [this.#progress(task, { told: this.#random.chance(0.5) })];
  }

  #trim(): Change[] {
    const random = this.#random;
    const lane = random.pick(this.#state.lanes) as Lane;
    if (lane.segments.length < 3) return [];
    // All of them, as when they are too old, or some.
    const count = random.chance(0.4) ? lane.segments.length : 1 + random.below(2);
    const through = lane.segments.splice(0, count).at(-1) as number;
    // The core settles no task in a trimmed segment. The engine would keep such a task, too.
    if (historySegmentOf(lane.last + 1) <= through && random.chance(0.3))
      lane.last = (through + 1) * historySegmentSize;
    return [{ kind: "history-trimmed", through }];
  }

  #forgetKey(): Change[] {
    const key = this.#state.keys.shift();
    return key === undefined ? [] : [{ kind: "key-gone", ...key }];
  }

  #progress(task: YardTask, given: Parameters<typeof progressOf>[1] = {}): Change {
    const { id, worker, state, settled } = task;
    task.turns += 1;
    const story = Array.from({ length: Math.min(4, task.turns) }, () => ({
      at: task.turns as WallTime,
      to: "running" as const,
      cause: "assigned",
      attempt: undefined,
      worker,
    }));
    const isEnded = state === "ended";
    const ended = isEnded
      ? { finishedAt: task.finishedAt as WallTime, result: bodyOf(`r${id}`), state: "done" as const }
      : { state };
    return put(progressOf(id, { worker, settled, story, ...ended, ...given }));
  }
}
