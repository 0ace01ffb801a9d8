// The state of queues, workers and problems as JSON, and the differences since the last look.

import type { QueueView, WorkerView } from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import type { Alert } from "../watching/alerts.js";
import type { EventFilter } from "./event-filter.js";
import type { FeedEvent, KeptEvents } from "./kept-events.js";
import { queueRatesJson, queueStateJson } from "./queue-json.js";
import { alertJson } from "./watch-json.js";
import { workerStateJson } from "./worker-json.js";

/** Maximum number of queues, and of workers, in a snapshot. There may be a hundred thousand. */
const shownMax = 2_000;

/** What a snapshot says of the dispatcher itself. */
export interface SnapshotFacts {
  /** What an accepted task survives. */
  readonly durability?: Engine["durability"] | undefined;
}

interface Seen {
  readonly json: string;
  /** The queues it is about; empty for an alert about none. */
  readonly queues: readonly string[];
  /** The fields whose change alone causes no immediate event. */
  readonly asides: string;
  /** It has no tasks; where there are too many, it is left out first. */
  readonly isQuiet?: boolean;
}

export class YardLook {
  #queues = new Map<string, Seen>();
  #workers = new Map<string, Seen>();
  #alerts = new Map<string, Seen>();

  get size(): number {
    return this.#queues.size + this.#workers.size;
  }

  forget(): void {
    this.#queues.clear();
    this.#workers.clear();
    this.#alerts.clear();
  }

  /** `withRates`: a change of rates counts as well. */
  lookAtQueues(queues: readonly QueueView[], withRates: boolean, kept: KeptEvents): FeedEvent[] {
    const before = this.#queues;
    this.#queues = new Map(
      queues.map((queue) => {
        const json = JSON.stringify(queueStateJson(queue));
        const known = before.get(queue.name);
        // Slightly old rates are good enough while nothing else has changed.
        const isSame = !withRates && known?.json === json;
        const asides = isSame ? known.asides : JSON.stringify(queueRatesJson(queue)).slice(1, -1);
        const isQuiet = queue.waiting + queue.running === 0 && !queue.paused;
        return [queue.name, { json, asides, queues: [queue.name], isQuiet }];
      }),
    );
    return differences("queue", "name", before, this.#queues, kept);
  }

  lookAtWorkers(workers: readonly WorkerView[], kept: KeptEvents): FeedEvent[] {
    const before = this.#workers;
    this.#workers = new Map(
      workers.map((worker) => {
        const json = JSON.stringify(workerStateJson(worker));
        const isQuiet = worker.state === "idle";
        return [String(worker.id), { json, asides: "", queues: worker.queues, isQuiet }];
      }),
    );
    return differences("worker", "id", before, this.#workers, kept);
  }

  lookAtAlerts(alerts: readonly Alert[], kept: KeptEvents): FeedEvent[] {
    const before = this.#alerts;
    this.#alerts = new Map(
      alerts.map((alert) => {
        const { queue } = alert.subject;
        const queues = queue === undefined ? [] : [queue];
        return [alert.id, { json: JSON.stringify(alertJson(alert)), asides: "", queues }];
      }),
    );
    return differences("alert", "id", before, this.#alerts, kept);
  }

  /** The current state, as far as this listener asked for it. `facts` is sent as it is. */
  snapshotJson(now: string, facts: SnapshotFacts, filter: EventFilter): string {
    const wanted = (all: ReadonlyMap<string, Seen>, type: "queue" | "worker" | "alert") =>
      [...all.values()].filter(({ queues }) => filter.takes({ type, queues }));
    const list = (all: readonly Seen[]) => `[${firstOf(all).map(whole).join(",")}]`;
    const queues = wanted(this.#queues, "queue");
    const workers = wanted(this.#workers, "worker");
    const alerts = filter.wants("alert") ? `,"alerts":${list(wanted(this.#alerts, "alert"))}` : "";
    const counts = `"queueCount":${queues.length},"workerCount":${workers.length}`;
    const begin = JSON.stringify({ now, ...facts }).slice(0, -1);
    return `${begin},"queues":${list(queues)},"workers":${list(workers)},${counts}${alerts}}`;
  }
}

/** All, or as many as a snapshot may list: those with tasks before the quiet ones. */
function firstOf(all: readonly Seen[]): readonly Seen[] {
  if (all.length <= shownMax) return all;
  const isBusy = ({ isQuiet }: Seen) => isQuiet !== true;
  return [...all.filter(isBusy), ...all.filter((seen) => !isBusy(seen))].slice(0, shownMax);
}

function whole({ json, asides }: Seen): string {
  return asides === "" ? json : `${json.slice(0, -1)},${asides}}`;
}

function differences(
  type: "queue" | "worker" | "alert",
  name: string,
  before: ReadonlyMap<string, Seen>,
  now: ReadonlyMap<string, Seen>,
  kept: KeptEvents,
): FeedEvent[] {
  const events: FeedEvent[] = [];
  for (const [id, seen] of now) {
    const known = before.get(id);
    if (known?.json === seen.json && known.asides === seen.asides) continue;
    events.push(kept.add(type, whole(seen), { type, queues: seen.queues }));
  }
  for (const [id, { queues }] of before) {
    if (now.has(id)) continue;
    events.push(kept.add(`${type}-gone`, JSON.stringify({ [name]: id }), { type, queues }));
  }
  return events;
}
