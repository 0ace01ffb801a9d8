// Collects changes of tasks for events: every change of a task that a listener follows, a bounded
// number in each queue that a listener filters by, and a bounded number in all other queues if a
// listener wants all. Changes that no listener wants cost one comparison.

import type { Change, Instant, StoredTask, TaskId } from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";
import type { About, EventFilter } from "./event-filter.js";
import type { FeedEvent, KeptEvents } from "./kept-events.js";
import { eventText } from "./listeners.js";
import { taskJson } from "./task-json.js";
import { TaskScopes } from "./task-scopes.js";

/** Maximum number of task events per second over all listeners. The rest is counted. */
const eventsPerSecondMax = 50_000;
/** Maximum number of events at once, even with few listeners. */
const eventsMax = 200;
/** Queues whose skipped changes are counted one by one; those of further queues are summed. */
const skippedQueuesMax = 20;

/** Changed tasks of one queue since the last events. */
interface Touched {
  readonly queue: string;
  readonly ids: Set<TaskId>;
  /** Changes of further tasks. */
  untold: number;
}

export class TaskNews {
  readonly #port: Port;
  readonly #scopes = new TaskScopes();
  readonly #touched = new Map<string, Touched>();
  readonly #followedTouched = new Set<TaskId>();

  constructor(port: Port) {
    this.#port = port;
  }

  follow(changes: readonly Change[]): void {
    if (this.#scopes.isEmpty) return;
    for (const change of changes) {
      if (change.kind === "head") this.#touch(change.head.id, change.head.queue);
      else if (change.kind === "progress") this.#touch(change.progress.id, change.queue ?? "");
    }
  }

  #touch(id: TaskId, queue: string): void {
    if (this.#scopes.isFollowed(id)) {
      this.#followedTouched.add(id);
      return;
    }
    if (!this.#scopes.has(queue)) return;
    let touched = this.#touched.get(queue);
    if (touched === undefined) {
      touched = { queue, ids: new Set(), untold: 0 };
      this.#touched.set(queue, touched);
    }
    if (touched.ids.has(id)) return;
    if (touched.ids.size < eventsMax) touched.ids.add(id);
    else touched.untold += 1;
  }

  /** Gathers what this filter wants, from the next event on. */
  watch(filter: EventFilter, kept: KeptEvents): void {
    if (filter.wants("task")) this.#scopes.open(filter, () => kept.mark());
  }

  unwatch(filter: EventFilter, now: Instant): void {
    if (filter.wants("task")) this.#scopes.leave(filter, now);
  }

  /** The event from which a listener can continue. Changes before it were not gathered. */
  toldFrom(filter: EventFilter): number {
    return filter.wants("task") ? this.#scopes.toldFrom(filter) : 0;
  }

  tidy(now: Instant): void {
    this.#scopes.tidy(now);
  }

  /** There are no listeners any more. */
  rest(): void {
    this.#scopes.clear();
    this.forget();
  }

  forget(): void {
    this.#touched.clear();
    this.#followedTouched.clear();
  }

  /** Events for the changes since the last call. */
  async take(kept: KeptEvents, everyMs: number, listeners: number): Promise<FeedEvent[]> {
    const share = (eventsPerSecondMax * everyMs) / 1000 / Math.max(1, listeners);
    const max = Math.max(1, Math.min(eventsMax, Math.floor(share)));
    const followed = [...this.#followedTouched];
    const all = [...this.#touched.values()];
    if (followed.length + all.length === 0) return [];
    this.forget();
    const chosen = this.#choose(all, max);
    const tasks = await this.#read([...followed, ...chosen]);
    const events: FeedEvent[] = [];
    let evicted = 0;
    for (const task of tasks) {
      // Retention may have evicted it in the meantime.
      if (task === undefined) evicted += 1;
      else events.push(kept.add("task", this.#json(task), aboutTask(task)));
    }
    const skipped = all.filter(({ untold }) => untold > 0);
    for (const { queue, untold } of skipped.slice(0, skippedQueuesMax))
      events.push(kept.add("skipped", JSON.stringify({ tasks: untold }), { type: "task", queues: [queue] }));
    const rest = skipped.slice(skippedQueuesMax);
    const untold = rest.reduce((sum, each) => sum + each.untold, evicted);
    if (untold > 0) {
      const queues = evicted > 0 ? undefined : rest.map(({ queue }) => queue);
      events.push(kept.add("skipped", JSON.stringify({ tasks: untold }), { type: "task", queues }));
    }
    return events;
  }

  /**
   * The tasks to tell of, and counts the others. A queue that a listener filters by has a share of
   * its own. The other queues take turns, so that a busy one does not hide a quiet one.
   */
  #choose(all: readonly Touched[], max: number): TaskId[] {
    const chosen: TaskId[] = [];
    const others: { readonly touched: Touched; readonly ids: readonly TaskId[] }[] = [];
    for (const touched of all) {
      const ids = [...touched.ids];
      if (this.#scopes.isNamed(touched.queue)) {
        chosen.push(...ids.slice(0, max));
        touched.untold += Math.max(0, ids.length - max);
      } else others.push({ touched, ids });
    }
    let left = max;
    for (let turn = 0; turn < eventsMax; turn += 1) {
      for (const { touched, ids } of others) {
        const id = ids[turn];
        if (id === undefined) continue;
        if (left > 0) chosen.push(id);
        else touched.untold += 1;
        left -= 1;
      }
    }
    return chosen;
  }

  /** The current state of the followed tasks that this listener may see. */
  async texts(filter: EventFilter, lastId: string): Promise<string[]> {
    const found = await this.#read([...(filter.tasks ?? [])]);
    return found.flatMap((task) =>
      task !== undefined && filter.takes(aboutTask(task))
        ? [eventText("task", this.#json(task), lastId)]
        : [],
    );
  }

  #read(ids: readonly TaskId[]) {
    return Promise.all(ids.map((id) => this.#port.reads.task(id)));
  }

  #json(task: Parameters<typeof taskJson>[0]): string {
    return JSON.stringify(taskJson(task, this.#port.reads.why(task.head.id)));
  }
}

function aboutTask({ head }: StoredTask): About {
  return { type: "task", queues: [head.queue], task: head.id };
}
