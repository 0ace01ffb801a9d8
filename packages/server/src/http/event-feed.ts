// What changes in the yard, as events for whoever listens: queues, workers and tasks, gathered for a moment and sent to
// all at once. A new listener gets a snapshot and then what changes; one that lost its connection goes on from the last
// event it has seen, as long as that is not long ago. While nobody listens nothing is gathered.

import { after, type Change, type Instant, type Moment, type TaskId } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Port } from "../door-kit/door.js";
import { eventText, Listeners } from "./listeners.js";
import { queueJson } from "./queue-routes.js";
import { taskJson } from "./task-json.js";
import { workerJson } from "./worker-routes.js";

/** Quick enough for eyes; more listeners, queues and workers make it slower, so that it costs a bounded share of time. */
const gatherMsMin = 100;
const gatherMsMax = 2_000;
/** All listeners together are sent about this many events of tasks a second; what is left out is counted. */
const taskEventsPerSecondMax = 50_000;
/** And no more than this at once, however few listen. */
const taskEventsMax = 200;
/** What is kept for those who come back. */
const keptBytesMax = 4 * 1024 * 1024;
/** For so long after the last listener left, what changes is gathered for its return. */
const lingerMs = 30_000;
/** Of a snapshot: of queues and of workers each. There may be a hundred thousand. */
const shownMax = 2_000;

interface Kept {
  readonly number: number;
  readonly text: string;
}

export class EventFeed {
  readonly #port: Port;
  readonly #listeners: Listeners;
  /** Tells the events of this process from those of one before. */
  readonly #series: string;
  /** How things stood when events were last sent, as JSON. */
  #queues = new Map<string, string>();
  #workers = new Map<string, string>();
  readonly #touched = new Set<TaskId>();
  #untold = 0;
  readonly #kept: Kept[] = [];
  #keptBytes = 0;
  #number = 0;
  #unfollow: (() => void) | undefined;
  #starting: Promise<void> | undefined;
  #gatherAt: Instant | undefined;
  #everyMs = gatherMsMin;
  #emptySince: Instant | undefined;
  #isGathering = false;
  #snapshot: Buffer | undefined;
  #isClosed = false;

  /** `series`: unlike that of any process before. */
  constructor(port: Port, series: string) {
    this.#port = port;
    this.#series = series;
    this.#listeners = new Listeners({ catchUp: () => this.#snapshotText(), onLeft: () => this.#left() });
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  get unreadBytes(): number {
    return this.#listeners.unreadBytes;
  }

  /** `lastId`: the last event that this listener has seen. */
  async add(reply: FastifyReply, lastId: string | undefined): Promise<void> {
    await this.#start();
    if (this.#isClosed) {
      reply.raw.destroy();
      return;
    }
    this.#emptySince = undefined;
    this.#listeners.add(reply, this.#since(lastId) ?? this.#snapshotText(), this.#port.now());
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
    this.#rest();
    this.#listeners.close();
  }

  /** The first listener after a while finds things as they are now; what was kept before is from another time. */
  #start(): Promise<void> {
    if (this.#unfollow !== undefined) return this.#starting ?? Promise.resolve();
    this.#unfollow = this.#port.reads.follow((changes) => this.#follow(changes));
    this.#number += 1;
    this.#starting = this.#look().then(() => {
      this.#starting = undefined;
      this.#forget();
      this.#plan(this.#port.now());
    });
    return this.#starting;
  }

  #rest(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#gatherAt = undefined;
    this.#emptySince = undefined;
    this.#queues.clear();
    this.#workers.clear();
    this.#forget();
  }

  #forget(): void {
    this.#kept.length = 0;
    this.#keptBytes = 0;
    this.#touched.clear();
    this.#untold = 0;
    this.#snapshot = undefined;
  }

  #left(): void {
    if (this.#listeners.size === 0) this.#emptySince = this.#port.now().instant;
  }

  #follow(changes: readonly Change[]): void {
    for (const change of changes) {
      const id =
        change.kind === "head" ? change.head.id : change.kind === "progress" ? change.progress.id : undefined;
      if (id === undefined || this.#touched.has(id)) continue;
      if (this.#touched.size < taskEventsMax) this.#touched.add(id);
      else this.#untold += 1;
    }
  }

  #plan(now: Moment): void {
    const shown = this.#queues.size + this.#workers.size;
    const wanted = Math.max(this.#listeners.size, shown) / 10;
    this.#everyMs = Math.max(gatherMsMin, Math.min(gatherMsMax, wanted));
    this.#gatherAt = after(now.instant, this.#everyMs);
  }

  async #gather(now: Moment): Promise<void> {
    this.#isGathering = true;
    try {
      const events = [...(await this.#taskEvents()), ...(await this.#look())];
      if (this.#unfollow === undefined) return;
      if (events.length > 0) await this.#listeners.send(Buffer.from(events.join("")), now);
      else await this.#listeners.keepAwake(now);
    } finally {
      this.#isGathering = false;
      if (this.#unfollow !== undefined) this.#plan(this.#port.now());
    }
  }

  async #taskEvents(): Promise<string[]> {
    const share = (taskEventsPerSecondMax * this.#everyMs) / 1000 / Math.max(1, this.#listeners.size);
    const max = Math.max(1, Math.min(taskEventsMax, Math.floor(share)));
    const ids = [...this.#touched];
    let untold = this.#untold + Math.max(0, ids.length - max);
    this.#touched.clear();
    this.#untold = 0;
    const tasks = await Promise.all(ids.slice(0, max).map((id) => this.#port.reads.task(id)));
    const events: string[] = [];
    for (const task of tasks) {
      // Retention may have let go of it meanwhile.
      if (task === undefined) untold += 1;
      else
        events.push(this.#event("task", JSON.stringify(taskJson(task, this.#port.reads.why(task.head.id)))));
    }
    if (untold > 0) events.push(this.#event("skipped", JSON.stringify({ tasks: untold })));
    return events;
  }

  /** Looks how queues and workers stand; the events that tell what is different. */
  async #look(): Promise<string[]> {
    const [queues, workers] = await Promise.all([this.#port.reads.queues(), this.#port.reads.workers()]);
    const events: string[] = [];
    const queuesNow = new Map(queues.map((queue) => [queue.name, JSON.stringify(queueJson(queue))]));
    this.#differences("queue", "name", this.#queues, queuesNow, events);
    const workersNow = new Map(
      workers.map((worker) => {
        // When it was last heard changes all the time, and says nothing that its state does not.
        const { lastSeenAt: _, ...shown } = workerJson(worker);
        return [String(worker.id), JSON.stringify(shown)];
      }),
    );
    this.#differences("worker", "id", this.#workers, workersNow, events);
    this.#queues = queuesNow;
    this.#workers = workersNow;
    if (events.length > 0) this.#snapshot = undefined;
    return events;
  }

  #differences(
    event: string,
    name: string,
    before: ReadonlyMap<string, string>,
    now: ReadonlyMap<string, string>,
    events: string[],
  ): void {
    for (const [id, json] of now) if (before.get(id) !== json) events.push(this.#event(event, json));
    for (const id of before.keys()) {
      if (!now.has(id)) events.push(this.#event(`${event}-gone`, JSON.stringify({ [name]: id })));
    }
  }

  #event(event: string, json: string): string {
    this.#number += 1;
    const text = eventText(event, json, `${this.#series}-${this.#number}`);
    this.#kept.push({ number: this.#number, text });
    this.#keptBytes += text.length;
    if (this.#keptBytes > keptBytesMax) this.#forgetOldest();
    return text;
  }

  /** Half at a time: to take the first off a long list moves all the others. */
  #forgetOldest(): void {
    for (const { text } of this.#kept.splice(0, Math.ceil(this.#kept.length / 2))) {
      this.#keptBytes -= text.length;
    }
    this.#snapshot = undefined;
  }

  /** What came after this event; nothing when that is not known any more. */
  #since(lastId: string | undefined): Buffer | undefined {
    const [, series, written] = /^([\w.]+)-(\d{1,15})$/.exec(lastId ?? "") ?? [];
    if (series !== this.#series) return undefined;
    const last = Number(written);
    const first = this.#kept[0]?.number ?? this.#number + 1;
    if (last < first - 1 || last > this.#number) return undefined;
    const missed = this.#kept.slice(last + 1 - first).map(({ text }) => text);
    return Buffer.from(missed.length > 0 ? missed.join("") : ":\n\n");
  }

  /** Made once for all who come before the next event. */
  #snapshotText(): Buffer {
    this.#snapshot ??= Buffer.from(
      eventText("snapshot", this.#snapshotJson(), `${this.#series}-${this.#number}`),
    );
    return this.#snapshot;
  }

  #snapshotJson(): string {
    const some = (all: ReadonlyMap<string, string>) => [...all.values()].slice(0, shownMax).join(",");
    const [queues, workers] = [this.#queues, this.#workers];
    const counts = `"queueCount":${queues.size},"workerCount":${workers.size}`;
    return `{"queues":[${some(queues)}],"workers":[${some(workers)}],${counts}}`;
  }
}
