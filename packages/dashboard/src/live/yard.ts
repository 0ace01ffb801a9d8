// The yard as the page knows it: queues, workers, problems, figures and attempts, kept up to date
// by one stream of events. It is mutable and read by components when they render. It also knows
// whether it is live, and since when it is not.

import { AttemptRing } from "../model/attempt-ring.js";
import { BusyHistory } from "../model/busy-history.js";
import type { Durability } from "../model/durability.js";
import { HeardTimes } from "../model/heard-times.js";
import { QueueColours } from "../model/queue-colours.js";
import type { SentEvent } from "../model/sse.js";
import type { Alert, AttemptFrame, Beat, Doors, Figures, Queue, Worker } from "./api-shapes.js";
import { EventStream } from "./event-stream.js";
import { getJson, type Refusal, session } from "./session.js";

interface Snapshot {
  readonly queues: readonly Queue[];
  readonly workers: readonly Worker[];
  readonly queueCount?: number;
  readonly workerCount?: number;
  readonly alerts?: readonly Alert[];
  readonly now?: string;
  readonly durability?: Durability;
}

export type Link = "connecting" | "live" | "lost";

export class Yard {
  readonly queues = new Map<string, Queue>();
  readonly workers = new Map<string, Worker>();
  readonly beats = new Map<string, Beat>();
  readonly alerts = new Map<string, Alert>();
  readonly ring = new AttemptRing();
  readonly busy = new BusyHistory();
  readonly heard = new HeardTimes();
  readonly colours = new QueueColours();
  figures: Figures | undefined;
  doors: Doors = {};
  /** What an accepted task survives; a dispatcher of an earlier version does not say. */
  durability: Durability | undefined;
  /** There are more than the page was told of; a filter asks the dispatcher. */
  areQueuesCut = false;
  areWorkersCut = false;
  link: Link = "connecting";
  /** When the link was lost, and when it is tried again, by this computer's clock. */
  lostAt = 0;
  retryAt = 0;
  refusal: Refusal | undefined;
  /** The dispatcher's clock minus this computer's. */
  #skewMs = 0;
  /** The skew is the least delayed message's: the largest that was seen lately. */
  #isClockKnown = false;
  readonly #stream: EventStream;
  readonly #listeners = new Set<() => void>();
  readonly #frameListeners = new Set<(frame: AttemptFrame) => void>();
  /** When the dispatcher was last heard, by this computer's clock. */
  #heardAt = 0;

  constructor() {
    this.#stream = new EventStream("v1/events?types=queue,worker,alert,figures,beats,attempts", {
      onOpen: () => this.#opened(),
      onEvents: (events) => this.#take(events),
      onLost: (retryAt) => this.#lost(retryAt),
      onRefused: (refusal) => {
        this.refusal = refusal;
        this.#changed();
      },
    });
  }

  /** Now, by the dispatcher's clock. While it does not answer, the time of its last state. */
  now(): number {
    return (this.link === "lost" ? this.lostAt : Date.now()) + this.#skewMs;
  }

  get skewMs(): number {
    return this.#skewMs;
  }

  start(): void {
    this.#stream.open();
    session.onChange(() => {
      this.refusal = undefined;
      if (!session.isSignedOut) this.#stream.restart();
      else this.#stream.close();
      this.#changed();
    });
  }

  reconnect(): void {
    this.refusal = undefined;
    this.#stream.close();
    this.#stream.open();
  }

  /** Hears when the link changes; not when data does. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onFrame(listener: (frame: AttemptFrame) => void): () => void {
    this.#frameListeners.add(listener);
    return () => this.#frameListeners.delete(listener);
  }

  /** Worst first, then longest; the order of the API. */
  problems(): Alert[] {
    const rank = { stopped: 0, behind: 1, notice: 2 };
    return [...this.alerts.values()].sort(
      (a, b) => rank[a.severity] - rank[b.severity] || (a.since ?? "").localeCompare(b.since ?? ""),
    );
  }

  #opened(): void {
    this.link = "live";
    this.#heardAt = Date.now();
    this.refusal = undefined;
    // Again after each break: a dispatcher that was restarted may have other doors.
    void this.#loadDoors();
    this.#changed();
  }

  async #loadDoors(): Promise<void> {
    try {
      this.doors = await getJson<Doors>("v1/doors");
      this.#changed();
    } catch {
      if (this.link === "live") setTimeout(() => void this.#loadDoors(), 2_000);
    }
  }

  #lost(retryAt: number): void {
    // A page that was hidden, or a line that went dead, last heard something long before this.
    if (this.link !== "lost") this.lostAt = this.#heardAt === 0 ? Date.now() : this.#heardAt;
    this.link = "lost";
    this.retryAt = retryAt;
    this.#changed();
  }

  #take(events: readonly SentEvent[]): void {
    this.#heardAt = Date.now();
    for (const { event, data } of events) {
      try {
        this.#one(event, data);
      } catch (fault) {
        // One event that cannot be read must not end the stream of all others.
        reportError(fault);
      }
    }
  }

  #one(event: string, data: string): void {
    const value = JSON.parse(data);
    switch (event) {
      case "snapshot":
        return this.#snapshot(value);
      case "queue":
        if (!this.queues.has(value.name)) this.colours.indexOf(value.name);
        this.queues.set(value.name, value);
        return;
      case "queue-gone":
        this.queues.delete(value.name);
        return;
      case "worker":
        this.workers.set(value.id, value);
        return;
      case "worker-gone":
        this.workers.delete(value.id);
        this.beats.delete(value.id);
        this.heard.forget(value.id);
        return;
      case "alert":
        this.alerts.set(value.id, value);
        return;
      case "alert-gone":
        this.alerts.delete(value.id);
        return;
      case "figures":
        this.figures = value;
        this.#clock(Date.parse(value.at));
        return;
      case "beats":
        return this.#beats(value);
      case "attempts":
        return this.#frame(value);
    }
  }

  #snapshot(value: Snapshot): void {
    this.durability = value.durability;
    this.areQueuesCut = (value.queueCount ?? 0) > value.queues.length;
    this.areWorkersCut = (value.workerCount ?? 0) > value.workers.length;
    this.queues.clear();
    this.workers.clear();
    this.alerts.clear();
    for (const queue of value.queues) this.queues.set(queue.name, queue);
    for (const worker of value.workers) this.workers.set(worker.id, worker);
    for (const alert of value.alerts ?? []) this.alerts.set(alert.id, alert);
    for (const id of this.beats.keys()) {
      if (this.workers.has(id)) continue;
      this.beats.delete(id);
      this.heard.forget(id);
    }
    const busiest = [...value.queues].sort((a, b) => liveliness(b) - liveliness(a));
    this.colours.keep(busiest.map(({ name }) => name));
    this.#isClockKnown = false;
    if (value.now !== undefined) this.#clock(Date.parse(value.now));
    this.ring.forgetRunning(this.busy.lastTo ?? this.now());
    this.#changed();
  }

  /** Tasks that a worker runs now. Its own row is sent again only when its state changes. */
  runningOf(worker: string): number {
    return this.beats.get(worker)?.running ?? this.workers.get(worker)?.running ?? 0;
  }

  #beats(value: { workers: [string, number, number, number, number, number, number | null][] }): void {
    for (const [id, running, done, failed, donePerMinute, lastSeenAtMs, limitMs] of value.workers) {
      this.beats.set(id, { running, done, failed, donePerMinute, lastSeenAtMs, limitMs });
      this.heard.add(id, lastSeenAtMs);
    }
  }

  #frame(frame: AttemptFrame): void {
    // What ran when the stream broke off may have ended unseen.
    const last = this.busy.lastTo;
    if (last !== undefined && frame.from > last + 1_500) this.ring.forgetRunning(last);
    this.ring.add(frame);
    this.busy.add(frame, this.ring);
    this.#clock(frame.to);
    for (const listener of this.#frameListeners) listener(frame);
  }

  #clock(at: number): void {
    const skewMs = at - Date.now();
    if (!this.#isClockKnown || skewMs > this.#skewMs) this.#skewMs = skewMs;
    // Slowly, so that a clock that was set back is followed, and one late message is not.
    else this.#skewMs += (skewMs - this.#skewMs) * 0.02;
    this.#isClockKnown = true;
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Queues with flow before those where tasks only wait, and these before empty ones. */
function liveliness({ inPerSecond, donePerSecond, running, waiting }: Queue): number {
  return inPerSecond[1] + donePerSecond[1] + running + waiting / 1e9;
}

export const yard = new Yard();
