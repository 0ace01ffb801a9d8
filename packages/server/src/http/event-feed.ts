// Sends changes of the yard to listeners as events. Changes are gathered for a moment, and
// listeners with the same filter get the same bytes. A new listener gets a snapshot and then
// changes. One that reconnects soon continues after the last event it has seen. Without listeners
// nothing is gathered, and an event that no listener asked for is never made.

import { after, type Change, type Instant, type Moment, type TaskId } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Port } from "../door-kit/door.js";
import { frameJson, shownPart } from "../watching/frame-json.js";
import type { Lookout } from "../watching/lookout.js";
import { AttemptFeed } from "./attempt-feed.js";
import { EventFilter, type EventType } from "./event-filter.js";
import { type FeedEvent, KeptEvents } from "./kept-events.js";
import { eventText, Listeners } from "./listeners.js";
import { timeJson } from "./task-json.js";
import { TaskNews } from "./task-news.js";
import { lingerMs } from "./task-scopes.js";
import { figuresJson } from "./watch-json.js";
import { beatRow } from "./worker-json.js";
import { type SnapshotFacts, YardLook } from "./yard-look.js";

/**
 * Fast enough for a person. With more listeners, queues and workers the interval grows, so that the
 * cost stays a bounded share of time.
 */
const gatherMsMin = 100;
const gatherMsMax = 2_000;
/** Minimum interval between checks of the other types. */
const everyMs = { worker: 500, alert: 1_000, figures: 250, beats: 1_000, attempts: 250, rates: 1_000 };

/** Listeners with the same filter. */
interface Audience {
  readonly filter: EventFilter;
  readonly listeners: Listeners;
  snapshot: Buffer | undefined;
  /** The last event of each followed task, for a listener that fell behind. */
  readonly lastOfTasks: Map<TaskId, string>;
}

/** An event that is not kept, because it is only valid at its moment. */
interface Passing {
  readonly type: EventType;
  readonly textFor: (filter: EventFilter) => string;
}

export class EventFeed {
  readonly #port: Port;
  readonly #lookout: Lookout;
  readonly #kept: KeptEvents;
  readonly #look = new YardLook();
  readonly #facts: SnapshotFacts;
  readonly #tasks: TaskNews;
  readonly #attempts: AttemptFeed;
  readonly #audiences = new Map<string, Audience>();
  readonly #nextAt = new Map<string, number>();
  readonly #beats = new Map<string, string>();
  #unfollow: (() => void) | undefined;
  #starting: Promise<void> | undefined;
  #gatherAt: Instant | undefined;
  #everyMs = gatherMsMin;
  #emptySince: Instant | undefined;
  #isGathering = false;
  #isClosed = false;

  /** `series` must differ from that of every earlier process. */
  constructor(port: Port, series: string, lookout: Lookout, facts: SnapshotFacts) {
    this.#facts = facts;
    this.#port = port;
    this.#lookout = lookout;
    this.#kept = new KeptEvents(series);
    this.#tasks = new TaskNews(port);
    this.#attempts = new AttemptFeed(port);
  }

  get listeners(): number {
    let sum = 0;
    for (const { listeners } of this.#audiences.values()) sum += listeners.size;
    return sum;
  }

  get unreadBytes(): number {
    return Math.max(0, ...[...this.#audiences.values()].map(({ listeners }) => listeners.unreadBytes));
  }

  /** `lastId` is the last event that this listener has seen. */
  async add(reply: FastifyReply, lastId: string | undefined, filter = new EventFilter({})): Promise<void> {
    await this.#start();
    const audience = this.#audiences.get(filter.key) ?? this.#newAudience(filter);
    // The state of types that no listener wanted so far was not read yet.
    if (this.#open(audience)) await this.#lookFor(filter);
    const first = await this.#first(audience, lastId);
    if (this.#isClosed) {
      reply.raw.destroy();
      return;
    }
    this.#emptySince = undefined;
    // Its last listener may have left meanwhile.
    this.#open(audience);
    audience.listeners.add(reply, first, this.#port.now());
  }

  handleTimeout(now: Moment): void {
    if (this.#gatherAt === undefined || this.#gatherAt > now.instant || this.#isGathering) return;
    if (this.#emptySince !== undefined && this.#emptySince + lingerMs <= now.instant) this.#rest();
    else void this.#gather(now);
  }

  nextDeadline(): Instant | undefined {
    return this.#isGathering ? undefined : this.#gatherAt;
  }

  close(): void {
    this.#isClosed = true;
    for (const { listeners } of this.#audiences.values()) listeners.close();
    this.#rest();
  }

  #newAudience(filter: EventFilter): Audience {
    const audience: Audience = {
      filter,
      listeners: new Listeners({
        catchUp: () => this.#catchUp(audience),
        onLeft: () => this.#left(audience),
      }),
      snapshot: undefined,
      lastOfTasks: new Map(),
    };
    return audience;
  }

  /**
   * Ensures that the events for these listeners are made. Returns true if they were not made
   * before.
   */
  #open(audience: Audience): boolean {
    const { filter } = audience;
    if (this.#audiences.has(filter.key)) return false;
    this.#audiences.set(filter.key, audience);
    if (filter.wants("attempts")) this.#attempts.start();
    this.#tasks.watch(filter, this.#kept);
    return true;
  }

  /** The first listener after a pause gets the current state; the kept events are outdated. */
  #start(): Promise<void> {
    if (this.#unfollow !== undefined) return this.#starting ?? Promise.resolve();
    this.#unfollow = this.#port.reads.follow((changes) => this.#follow(changes));
    this.#starting = this.#lookAtAll().then(() => {
      this.#starting = undefined;
      this.#kept.forget();
      this.#tasks.forget();
      this.#plan(this.#port.now());
    });
    return this.#starting;
  }

  async #lookAtAll(): Promise<void> {
    const [queues, workers] = await Promise.all([this.#port.reads.queues(), this.#port.reads.workers()]);
    this.#look.lookAtQueues(queues, true, this.#kept);
    this.#look.lookAtWorkers(workers, this.#kept);
  }

  /** Refreshes the state, so that the first snapshot is current. */
  async #lookFor(filter: EventFilter): Promise<void> {
    if (!filter.wants("alert")) return;
    const { items } = await this.#lookout.alerts();
    this.#publish(this.#look.lookAtAlerts(items, this.#kept), [], this.#port.now());
  }

  #rest(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#gatherAt = undefined;
    this.#emptySince = undefined;
    this.#audiences.clear();
    this.#attempts.stop();
    this.#look.forget();
    this.#beats.clear();
    this.#tasks.rest();
    this.#kept.forget();
  }

  /**
   * Events that only these listeners wanted are no longer made. Those of queues, workers and tasks
   * still are for a while, in case a listener returns.
   */
  #left(audience: Audience): void {
    if (audience.listeners.size === 0 && this.#audiences.get(audience.filter.key) === audience) {
      this.#audiences.delete(audience.filter.key);
      this.#tasks.unwatch(audience.filter, this.#port.now().instant);
      if (!this.#wants("attempts")) this.#attempts.stop();
    }
    if (this.#audiences.size === 0) this.#emptySince = this.#port.now().instant;
  }

  #wants(type: EventType): boolean {
    for (const { filter } of this.#audiences.values()) if (filter.wants(type)) return true;
    return false;
  }

  #follow(changes: readonly Change[]): void {
    this.#tasks.follow(changes);
  }

  #plan(now: Moment): void {
    const wanted = Math.max(this.listeners, this.#look.size) / 10;
    this.#everyMs = Math.max(gatherMsMin, Math.min(gatherMsMax, wanted));
    this.#gatherAt = after(now.instant, this.#everyMs);
  }

  async #gather(now: Moment): Promise<void> {
    this.#isGathering = true;
    try {
      const events = await this.#events(now);
      const passing = await this.#passing(now);
      if (this.#unfollow !== undefined) await this.#publish(events, passing, now);
    } finally {
      this.#isGathering = false;
      if (this.#unfollow !== undefined) this.#plan(this.#port.now());
    }
  }

  /**
   * The numbered events. For a while after the last listener left they are kept in case it returns.
   */
  async #events(now: Moment): Promise<FeedEvent[]> {
    const { reads } = this.#port;
    this.#tasks.tidy(now.instant);
    const events = await this.#tasks.take(this.#kept, this.#everyMs, this.listeners);
    const queues = await reads.queues();
    events.push(...this.#look.lookAtQueues(queues, this.#isDue("rates", now), this.#kept));
    if (this.#isDue("worker", now))
      events.push(...this.#look.lookAtWorkers(await reads.workers(), this.#kept));
    if (this.#wants("alert") && this.#isDue("alert", now)) {
      const { items } = await this.#lookout.alerts();
      events.push(...this.#look.lookAtAlerts(items, this.#kept));
    }
    return events;
  }

  async #passing(now: Moment): Promise<Passing[]> {
    const passing: Passing[] = [];
    if (this.#wants("attempts") && this.#isDue("attempts", now)) {
      const frame = await this.#attempts.take(now);
      if (frame !== undefined)
        passing.push({
          type: "attempts",
          textFor: ({ shows, isRestricted }) =>
            eventText("attempts", frameJson(isRestricted ? shownPart(frame, shows) : frame, shows)),
        });
    }
    if (this.#wants("figures") && this.#isDue("figures", now)) {
      const text = eventText("figures", JSON.stringify(figuresJson(await this.#lookout.figures())));
      passing.push({ type: "figures", textFor: () => text });
    }
    if (this.#wants("beats") && this.#isDue("beats", now)) {
      const text = await this.#beatsText(now);
      if (text !== undefined) passing.push({ type: "beats", textFor: () => text });
    }
    return passing;
  }

  /** Rows of the workers that changed. */
  async #beatsText(now: Moment): Promise<string | undefined> {
    const rows: string[] = [];
    const workers = await this.#lookout.workers();
    const before = new Map(this.#beats);
    this.#beats.clear();
    for (const worker of workers) {
      if (worker.state === "lost") continue;
      const row = JSON.stringify(beatRow(worker, worker.silence));
      this.#beats.set(worker.id, row);
      if (before.get(worker.id) !== row) rows.push(row);
    }
    return rows.length === 0
      ? undefined
      : eventText("beats", `{"at":"${timeJson(now.wall)}","workers":[${rows.join(",")}]}`);
  }

  async #publish(events: readonly FeedEvent[], passing: readonly Passing[], now: Moment): Promise<void> {
    for (const audience of [...this.#audiences.values()]) {
      const { filter, listeners, lastOfTasks } = audience;
      const texts: string[] = [];
      for (const event of events) {
        if (!filter.takes(event)) continue;
        texts.push(event.text);
        if (filter.tasks !== undefined && event.task !== undefined) lastOfTasks.set(event.task, event.text);
      }
      if (events.length > 0) audience.snapshot = undefined;
      for (const { type, textFor } of passing) if (filter.wants(type)) texts.push(textFor(filter));
      if (texts.length > 0) await listeners.send(Buffer.from(texts.join("")), now);
      else await listeners.keepAwake(now);
    }
  }

  async #first(audience: Audience, lastId: string | undefined): Promise<Buffer> {
    const { filter } = audience;
    const frame = filter.wants("attempts") ? this.#attempts.first(filter) : undefined;
    // Running attempts are shown once they are committed.
    if (frame !== undefined) await this.#port.reads.whenSafe();
    const tasks = filter.tasks === undefined ? [] : await this.#tasks.texts(filter, this.#kept.lastId);
    const missed = this.#kept.since(lastId, filter, this.#tasks.toldFrom(filter));
    // Shared by all listeners that connect before the next event.
    if (tasks.length === 0 && missed === undefined && frame === undefined && filter.hasSnapshot)
      return this.#snapshotText(audience);
    const state = filter.hasSnapshot ? (missed ?? this.#snapshotText(audience).toString()) : tasks.join("");
    const text = `${state}${frame === undefined ? "" : eventText("attempts", frame)}`;
    return Buffer.from(text === "" ? ":\n\n" : text);
  }

  #catchUp(audience: Audience): Buffer {
    if (audience.filter.hasSnapshot) return this.#snapshotText(audience);
    return Buffer.from([...audience.lastOfTasks.values()].join("") || ":\n\n");
  }

  /** Made once for all listeners that connect before the next event. */
  #snapshotText(audience: Audience): Buffer {
    const json = () => this.#look.snapshotJson(timeJson(this.#port.now().wall), this.#facts, audience.filter);
    audience.snapshot ??= Buffer.from(eventText("snapshot", json(), this.#kept.lastId));
    return audience.snapshot;
  }

  #isDue(what: keyof typeof everyMs, { instant }: Moment): boolean {
    if ((this.#nextAt.get(what) ?? 0) > instant) return false;
    // The interval is slightly shorter, because gathering does not run exactly on time.
    this.#nextAt.set(what, instant + everyMs[what] - gatherMsMin / 2);
    return true;
  }
}
