// The histories of finished tasks: one for each queue with a retention of its own, and one for all
// other queues. Each is a lane of its own in the engine. Which queue has which lane is one of the
// core's own memos.

import { History } from "./history.js";
import { type HistorySegment, historyLaneOf, historyLanesMax } from "./history-segment.js";
import type { Retention } from "./limits.js";
import type { Queue } from "./queue.js";
import { coreMemoDoor } from "./records.js";
import type { Step } from "./step.js";
import type { Instant, Moment } from "./time.js";

export const laneMemoPrefix = "history/";

export class Histories {
  readonly #common: History;
  readonly #retention: Retention;
  readonly #lanes = new Map<number, History>();
  /** The lane of each queue that has one, also after its retention was reset. */
  readonly #laneOf = new Map<string, number>();

  constructor(retention: Retention) {
    this.#retention = retention;
    this.#common = new History(retention);
  }

  /** The history that a task of this queue enters. Undefined: every lane is taken. */
  historyFor({ name, settings }: Queue, step: Step): History | undefined {
    const { retention } = settings;
    if (retention === undefined) return this.#common;
    const lane = this.#laneOf.get(name) ?? this.#newLane(name, step);
    if (lane === undefined) return undefined;
    const history = this.#lane(lane);
    history.retention = retention;
    return history;
  }

  get common(): History {
    return this.#common;
  }

  /** All histories that have tasks or may get some. */
  *all(): Generator<History> {
    yield this.#common;
    yield* this.#lanes.values();
  }

  nextTrim(): Instant | undefined {
    let next = this.#common.nextTrim();
    if (this.#lanes.size === 0) return next;
    for (const history of this.#lanes.values()) {
      const at = history.nextTrim();
      if (at !== undefined && (next === undefined || at < next)) next = at;
    }
    return next;
  }

  /** Applies a new retention to the history that the queue has. Undefined: the common retention. */
  retain(queue: string, retention: Retention | undefined): void {
    const lane = this.#laneOf.get(queue);
    if (lane !== undefined) this.#lane(lane).retention = retention ?? this.#retention;
  }

  /** Frees the lanes that are empty and whose queue has no retention of its own any more. */
  freeLanes(step: Step): void {
    for (const [queue, lane] of this.#laneOf) {
      const history = this.#lane(lane);
      if (history.count > 0 || history.retention !== this.#retention) continue;
      this.#laneOf.delete(queue);
      step.change({ kind: "memo-gone", door: coreMemoDoor, name: `${laneMemoPrefix}${queue}` });
    }
  }

  restore(segment: HistorySegment, now: Moment): void {
    const lane = historyLaneOf(segment.index);
    (lane === 0 ? this.#common : this.#lane(lane)).restore(segment, now);
  }

  restoreLane(queue: string, bytes: Uint8Array): void {
    const lane = Number(new TextDecoder().decode(bytes));
    if (Number.isInteger(lane) && lane >= 1 && lane <= historyLanesMax) this.#laneOf.set(queue, lane);
  }

  /** Ends restoring. `lanes`: the last number of each lane, by lane. */
  restoreLast(settled: number, lanes: readonly number[] = []): void {
    this.#common.restoreLast(settled);
    for (const [lane, last] of lanes.entries()) if (lane > 0 && last > 0) this.#lane(lane);
    for (const [lane, history] of this.#lanes) history.restoreLast(lanes[lane] ?? 0);
  }

  /** The queues with a lane. */
  get queues(): Iterable<string> {
    return this.#laneOf.keys();
  }

  #lane(lane: number): History {
    const known = this.#lanes.get(lane);
    if (known !== undefined) return known;
    const history = new History(this.#retention, lane);
    this.#lanes.set(lane, history);
    return history;
  }

  #newLane(queue: string, step: Step): number | undefined {
    const taken = new Set(this.#laneOf.values());
    for (let lane = 1; lane <= historyLanesMax; lane++) {
      // A lane that was freed, or whose queue is not known any more, may still have tasks.
      if (taken.has(lane) || (this.#lanes.get(lane)?.count ?? 0) > 0) continue;
      this.#laneOf.set(queue, lane);
      const bytes = new TextEncoder().encode(String(lane));
      const name = `${laneMemoPrefix}${queue}`;
      step.change({ kind: "memo", memo: { door: coreMemoDoor, name, bytes } });
      return lane;
    }
    return undefined;
  }
}
