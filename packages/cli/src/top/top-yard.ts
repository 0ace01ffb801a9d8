// The yard as `top` knows it: queues, workers, problems and figures, kept up to date by a stream of
// events, and what only a request tells: history and lost workers.

import type {
  Alert,
  AttemptFrame,
  Figures,
  HistorySeries,
  LostWorker,
  Queue,
  StreamEvent,
  WorkerBeat,
  WorkerView,
} from "@yardmaster/sdk";
import { duration, type Signal, signalOf } from "./page-words.js";
import { StreamMinute } from "./stream-minute.js";

/** Figures come several times a second; after this silence the dispatcher counts as away. */
const awayAfterMs = 5_000;
const severities = ["stopped", "behind", "notice"];
/** Queues in trouble come first, and those that only wait for their time last. */
const signalOrder: readonly Signal[] = ["stopped", "paused", "behind", "draining", "clear", "later"];
const byName = new Intl.Collator("en", { numeric: true }).compare;

/** If workers send heartbeats, some arrive within this time of the first event. */
const beatsMs = 1_500;

export class TopYard {
  readonly queues = new Map<string, Queue>();
  readonly workers = new Map<string, WorkerView>();
  readonly beats = new Map<string, WorkerBeat>();
  readonly alerts = new Map<string, Alert>();
  readonly stream = new StreamMinute();
  figures: Figures | undefined;
  history: HistorySeries | undefined;
  lost: readonly LostWorker[] = [];
  doors = 0;
  /** The dispatcher's clock minus ours. */
  #skewMs = 0;
  #heardAt = 0;
  /** When the first event came. */
  #begunAt = 0;

  /**
   * True once figures have arrived, and the times at which workers were last heard. The times come
   * once a second, but never for workers that may be silent without a limit.
   */
  get isWhole(): boolean {
    if (this.figures === undefined) return false;
    return this.workers.size === 0 || this.beats.size > 0 || this.#heardAt - this.#begunAt > beatsMs;
  }

  /** Now, by the dispatcher's clock. While it is away, the time of its last state. */
  now(atMs: number): number {
    return (this.isAway(atMs) ? this.#heardAt : atMs) + this.#skewMs;
  }

  isAway(atMs: number): boolean {
    return atMs - this.#heardAt > awayAfterMs;
  }

  /** "live 14:32:07", or for how long it has not answered. */
  link(atMs: number, clock: (at: number) => string): string {
    if (!this.isAway(atMs)) return `live ${clock(this.now(atMs))}`;
    return `no answer for ${duration(Math.floor((atMs - this.#heardAt) / 1000) * 1000)}`;
  }

  take({ type, data }: StreamEvent, atMs: number): void {
    this.#heardAt = atMs;
    this.#begunAt ||= atMs;
    const value = data as never;
    if (type === "snapshot") this.#snapshot(value, atMs);
    else if (type === "queue") this.#put(this.queues, (value as Queue).name, value);
    else if (type === "queue-gone") this.queues.delete((value as Queue).name);
    else if (type === "worker") this.#put(this.workers, (value as WorkerView).id, value);
    else if (type === "worker-gone") this.#forget((value as WorkerView).id);
    else if (type === "alert") this.#put(this.alerts, (value as Alert).id, value);
    else if (type === "alert-gone") this.alerts.delete((value as Alert).id);
    else if (type === "figures") this.#figures(value, atMs);
    else if (type === "beats") this.#beats(value);
    else if (type === "attempts") this.stream.add(value as AttemptFrame);
  }

  /** Worst first, then longest; the order of the API. */
  problems(): Alert[] {
    return [...this.alerts.values()].sort(
      (a, b) =>
        severities.indexOf(a.severity) - severities.indexOf(b.severity) ||
        (a.since ?? "").localeCompare(b.since ?? ""),
    );
  }

  /** Queues in trouble first, the longest first; then the others, the busiest first. */
  rankedQueues(now: number, filter = ""): Queue[] {
    const ranked = [...this.queues.values()]
      .filter(({ name }) => name.toLowerCase().includes(filter))
      .map((queue) => ({ queue, rank: signalOrder.indexOf(signalOf(queue, now)) }));
    ranked.sort(
      (a, b) =>
        a.rank - b.rank ||
        (a.rank < signalOrder.indexOf("clear") ? longest(a.queue, b.queue) : busiest(a.queue, b.queue)) ||
        byName(a.queue.name, b.queue.name),
    );
    return ranked.map(({ queue }) => queue);
  }

  /** Those in trouble first; lost ones are listed apart. */
  rankedWorkers(now: number, filter = ""): WorkerView[] {
    const found = [...this.workers.values()].filter(
      ({ id, state, queues }) =>
        state !== "lost" && [id, ...queues].some((text) => text.toLowerCase().includes(filter)),
    );
    const ranks = new Map(found.map((worker) => [worker.id, this.trouble(worker, now)]));
    return found.sort((a, b) => (ranks.get(a.id) ?? 0) - (ranks.get(b.id) ?? 0) || byName(a.id, b.id));
  }

  /** As the page ranks workers: 1 is falling silent, 2 fails, 3 drains, 4 is quiet, 5 is well. */
  trouble({ id, state }: WorkerView, now: number): number {
    const beat = this.beats.get(id);
    const share = this.silence(id, now) ?? 0;
    if (share > 0.8) return 1;
    if (beat !== undefined && beat.failed > 0 && beat.failed > beat.done * 0.1) return 2;
    if (this.#isNamed(id)) return 2;
    if (state === "draining") return 3;
    return share > 0.5 ? 4 : 5;
  }

  /**
   * Share of its silence limit that has passed since it was heard; undefined while it owes no sign
   * of life.
   */
  silence(id: string, now: number): number | undefined {
    const beat = this.beats.get(id);
    if (!beat || beat.limitMs === null || beat.limitMs <= 0) return undefined;
    return Math.max(0, now - beat.lastSeenAtMs) / beat.limitMs;
  }

  /** True if draining it is the remedy of a problem. */
  #isNamed(id: string): boolean {
    for (const { fixes } of this.alerts.values()) {
      if (fixes.some((fix) => fix.do === "drain-worker" && fix.worker === id)) return true;
    }
    return false;
  }

  #snapshot(
    value: { queues: Queue[]; workers: WorkerView[]; alerts?: Alert[]; now?: string },
    atMs: number,
  ): void {
    this.queues.clear();
    this.workers.clear();
    this.alerts.clear();
    for (const queue of value.queues) this.queues.set(queue.name, queue);
    for (const worker of value.workers) this.workers.set(worker.id, worker);
    for (const alert of value.alerts ?? []) this.alerts.set(alert.id, alert);
    for (const id of this.beats.keys()) if (!this.workers.has(id)) this.#forget(id);
    if (value.now !== undefined) this.#skewMs = Date.parse(value.now) - atMs;
  }

  #put<Value>(map: Map<string, Value>, key: string, value: Value): void {
    map.set(key, value);
  }

  #forget(id: string): void {
    this.workers.delete(id);
    this.beats.delete(id);
  }

  #figures(value: Figures, atMs: number): void {
    this.figures = value;
    this.#skewMs = Date.parse(value.at) - atMs;
  }

  #beats(value: { workers: [string, number, number, number, number, number, number | null][] }): void {
    for (const [id, running, done, failed, donePerMinute, lastSeenAtMs, limitMs] of value.workers) {
      this.beats.set(id, { running, done, failed, donePerMinute, lastSeenAtMs, limitMs });
    }
  }
}

function longest(a: Queue, b: Queue): number {
  return (a.oldestAt ?? "~").localeCompare(b.oldestAt ?? "~");
}

/** Compares rates by powers of two, so that rows with similar rates do not keep changing places. */
function busiest(a: Queue, b: Queue): number {
  const level = ({ donePerSecond, inPerSecond }: Queue) =>
    Math.round(Math.log2(1 + 10 * (donePerSecond[1] + inPerSecond[1])));
  return level(b) - level(a);
}
