// Metrics for operators. They are read from existing counts on request, so a task costs nothing
// extra. Labels are bounded: the first queues (chosen by the core, the same for counters and
// gauges), the doors, and fixed sets of reasons. A counter never decreases.

import type { QueueSettings, QueueView, WorkerView, Counter as YardCounter } from "@yardmaster/core";
import { claimReasons, type Member } from "@yardmaster/engines";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Access } from "./access/access.js";
import { CommitTimes } from "./commit-times.js";
import type { Faults } from "./door-kit/faults.js";
import type { Tap, Traffic } from "./door-kit/tap.js";
import { QueueTimes } from "./queue-times.js";
import type { Runtime } from "./runtime.js";

/**
 * Number of workers with their own gauges; the others are summed. The page must not grow without
 * bound.
 */
const namedWorkersMax = 1_000;
/** No worker has this id: an id begins with its door's name. */
const otherWorkers = "(other)";

type Labels = Record<string, string>;
type Set = (labels: Labels, value: number) => void;

/** A metric whose values are read when metrics are collected. */
type CollectedMetric = readonly [
  name: string,
  help: string,
  labelNames: readonly string[],
  collect: (add: Set) => void,
];

/** What the process knows of itself and its machine. Undefined where the system does not say. */
export interface MachineFacts {
  readonly version: string;
  readonly engine: string;
  readonly durability: string;
  readonly memoryBytesMax: number;
  memoryBytes(): number;
  /** Size of the engine's files, and the room that is left on their disk. */
  disk(): { readonly usedBytes: number; readonly freeBytes: number } | undefined;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #commitTimes = new CommitTimes();
  readonly #faults = new Map<string, Faults>();

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    this.#registry.registerMetric(this.#commitTimes as never);
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Called by the runtime when a batch was committed. */
  readonly committed = (ms: number): void => {
    this.#commitTimes.add(ms);
  };

  /** Exposes the counts of peers' mistakes at this door. */
  watchFaults(door: string, faults: Faults): void {
    this.#faults.set(door, faults);
  }

  /** Exposes what each principal did. Their number is bounded by the configuration. */
  watchAccess(access: Access): void {
    this.#count("principal_submissions_total", "Tasks that a principal submitted.", ["principal"], (add) => {
      for (const { name, submitted } of access.principals()) add({ principal: name }, submitted);
    });
    this.#count(
      "principal_refusals_total",
      "Requests of a principal that were refused: for want of a right, or by a quota.",
      ["principal", "reason"],
      (add) => {
        for (const { name: principal, denied, quotas } of access.principals()) {
          add({ principal, reason: "right" }, denied);
          for (const [reason, count] of Object.entries(quotas.refusals)) add({ principal, reason }, count);
        }
      },
    );
    this.#gauge("principal_connections", "Open connections of a principal.", ["principal"], (add) => {
      for (const { name, quotas } of access.principals()) add({ principal: name }, quotas.connections);
    });
  }

  watchMachine(facts: MachineFacts): void {
    const { version, engine, durability } = facts;
    const labels = { version, node: process.versions.node, engine, durability };
    this.#gauge("build_info", "Always 1; its labels say what runs.", Object.keys(labels), (set) =>
      set(labels, 1),
    );
    this.#gauge("memory_used_bytes", "Memory of the process, without file pages.", [], (set) =>
      set({}, facts.memoryBytes()),
    );
    this.#gauge("memory_limit_bytes", "Memory at which new tasks are refused.", [], (set) =>
      set({}, facts.memoryBytesMax),
    );
    this.#gauge("store_bytes", "Size of the engine's files.", [], (set) => {
      const disk = facts.disk();
      if (disk) set({}, disk.usedBytes);
    });
    this.#gauge("disk_free_bytes", "Room on the disk of the engine's files.", [], (set) => {
      const disk = facts.disk();
      if (disk) set({}, disk.freeBytes);
    });
  }

  /** Exposes the part that this dispatcher has among those that share the database. */
  watchCluster(member: Member): void {
    const role = () => (member.isOwner ? "owner" : "standby");
    this.#gauge("cluster_role", "Always 1; its labels say what this node is.", ["node", "role"], (set) =>
      set({ node: member.node, role: role() }, 1),
    );
    this.#gauge("cluster_epoch", "The epoch in which this node owns the yard; 0 on a standby.", [], (set) =>
      set({}, member.epoch ?? 0),
    );
    this.#gauge(
      "cluster_halted",
      "1 while the database is behind what was acknowledged, so that this node claims nothing.",
      [],
      (set) => set({}, member.isHalted ? 1 : 0),
    );
    this.#count("takeovers_total", "Take-overs by this process, by their reason.", ["reason"], (add) => {
      for (const reason of claimReasons) add({ reason }, Number(member.takeOver === reason));
    });
  }

  watchRuntime(runtime: Runtime): void {
    this.#watchTimes(runtime);
    const counters = () => runtime.counters;
    this.#total("submitted_total", "Accepted tasks.", ["queue"], () => counters().submitted);
    this.#total("outcomes_total", "Finished tasks.", ["queue", "state"], () => counters().outcomes);
    this.#total(
      "lost_attempts_total",
      "Attempts lost with their worker.",
      ["door", "reason"],
      () => counters().lostAttempts,
    );
    this.#total(
      "returned_attempts_total",
      "Attempts returned without counting as a try.",
      ["door", "reason"],
      () => counters().returnedAttempts,
    );
    this.#total(
      "stale_results_total",
      "Answers of attempts that no longer held their task.",
      ["door"],
      () => counters().staleResults,
    );
    this.#total(
      "senseless_events_total",
      "Impossible events posted by a door; they show a bug in Yardmaster.",
      ["door", "event"],
      () => counters().senseless,
    );
    this.#total(
      "limits_reached_total",
      "Refusals because of a limit.",
      ["limit"],
      () => counters().limitsReached,
    );
    this.#total(
      "tellings_total",
      "Outcomes sent to clients, repeats included.",
      ["door"],
      () => counters().tellings,
    );
    this.#total(
      "schedule_runs_total",
      "Scheduled runs by result: submitted, skipped (the previous task had not finished) or refused (tried again).",
      ["result"],
      () => counters().scheduleRuns,
    );
    this.#total(
      "action_tasks_total",
      "Tasks of bulk actions by result: done or refused.",
      ["kind", "result"],
      () => counters().actionTasks,
    );
    this.#total("progress_reports_total", "Progress reports of workers.", ["door"], () => counters().reports);
    this.#count("stalled_seconds_total", "Time in which the process could not run.", [], (add) =>
      add({}, runtime.stalledMs / 1000),
    );
    this.#faultsTotal();
    this.#watchQueues(() => runtime.core.view.queues());
    this.#watchWorkers(() => runtime.core.view.workers());
  }

  /** Exposes the counts of messages at every door. */
  watchTap(tap: Tap): void {
    const sums = (name: string, help: string, of: (traffic: Readonly<Traffic>) => number) =>
      new Counter({
        name: `yardmaster_${name}`,
        help,
        labelNames: ["door", "direction", "type"],
        registers: [this.#registry],
        collect() {
          this.reset();
          for (const traffic of tap.traffic()) {
            const { door, direction, type } = traffic;
            this.inc({ door, direction, type }, of(traffic));
          }
        },
      });
    sums("messages_total", "Messages on a door, by the dialect's message type.", ({ messages }) => messages);
    sums(
      "message_bytes_total",
      "Bytes of messages on a door, if the door counts them.",
      ({ bytes }) => bytes,
    );
  }

  #watchTimes(runtime: Runtime): void {
    const times = new QueueTimes();
    runtime.port("metrics").reads.observe(times);
    this.#registry.registerMetric(times.waits as never);
    this.#registry.registerMetric(times.runs as never);
    this.#count(
      "retries_total",
      "Attempts after which their task waits again, by how they ended: failed, lost or returned.",
      ["queue", "reason"],
      (add) => {
        for (const [queue, counts] of times.retries) {
          for (const [reason, count] of counts) add({ queue, reason }, count);
        }
      },
    );
  }

  #watchQueues(queues: () => readonly QueueView[]): void {
    const perQueue = (name: string, help: string, of: (queue: QueueView) => number) =>
      this.#gauge(name, help, ["queue"], (set) => {
        for (const queue of queues()) set({ queue: queue.label }, of(queue));
      });
    this.#gauge("waiting", "Waiting tasks.", ["queue", "reason"], (set) => {
      for (const { label, waitingBy } of queues()) {
        for (const [reason, count] of Object.entries(waitingBy)) set({ queue: label, reason }, count);
      }
    });
    perQueue("waiting_bytes", "Bytes of the payloads of waiting tasks.", ({ waitingBytes }) => waitingBytes);
    perQueue("running", "Running tasks.", ({ running }) => running);
    perQueue(
      "depended",
      "Finished tasks that are kept because unfinished tasks depend on them.",
      ({ depended }) => depended,
    );
    perQueue("queue_workers", "Workers that serve the queue.", ({ workers }) => workers);
    perQueue("queue_groups", "Groups with tasks that have not ended.", ({ groups }) => groups);
    this.#gauge("queue_limit", "Configured limits of queues.", ["queue", "limit"], (set) => {
      for (const { name, label, settings } of queues()) if (name === label) setLimits(label, settings, set);
    });
    this.#gauge(
      "oldest_waiting_seconds",
      "Age of the oldest task that could start now.",
      ["queue"],
      (set) => {
        for (const [queue, oldestAt] of oldestByLabel(queues())) {
          set({ queue }, Math.max(0, Date.now() - oldestAt) / 1000);
        }
      },
    );
  }

  #watchWorkers(workers: () => readonly WorkerView[]): void {
    this.#gauge("workers", "Workers.", ["door", "state"], (set) => {
      for (const { door, state } of workers()) set({ door, state }, 1);
    });
    const perWorker = (name: string, help: string, of: (worker: WorkerView) => number) =>
      this.#gauge(name, help, ["door", "worker"], (set) => {
        const present = workers().filter(({ state }) => state !== "lost");
        for (const [index, worker] of present.entries()) {
          const name = index < namedWorkersMax ? worker.id : otherWorkers;
          set({ door: worker.door, worker: name }, of(worker));
        }
      });
    perWorker("worker_running", "Attempts that a worker holds.", ({ running }) => running);
    perWorker("worker_slots", "Attempts that a worker may hold.", ({ slots }) => slots);
  }

  #total(name: string, help: string, labelNames: readonly string[], count: () => YardCounter): void {
    this.#count(name, help, labelNames, (add) => {
      for (const [first, second, value] of count().entries()) add(labelsOf(labelNames, first, second), value);
    });
  }

  #faultsTotal(): void {
    this.#count("faults_total", "Mistakes of peers.", ["door", "kind"], (add) => {
      for (const [door, faults] of this.#faults)
        for (const [kind, count] of faults.entries()) add({ door, kind }, count);
    });
  }

  #count(...given: CollectedMetric): void {
    this.#collect(Counter, ...given);
  }

  #gauge(...given: CollectedMetric): void {
    this.#collect(Gauge, ...given);
  }

  #collect(Kind: typeof Counter | typeof Gauge, ...given: CollectedMetric): void {
    const [name, help, labelNames, collect] = given;
    new Kind({
      name: `yardmaster_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        collect((labels, value) => this.inc(labels, value));
      },
    });
  }
}

/** Limits on running tasks, on running tasks per group, and on starts per second. */
function setLimits(queue: string, settings: QueueSettings, set: Set): void {
  const { maxRunning, maxRunningPerGroup, rate } = settings;
  if (maxRunning !== Number.POSITIVE_INFINITY) set({ queue, limit: "maxRunning" }, maxRunning);
  if (maxRunningPerGroup !== Number.POSITIVE_INFINITY)
    set({ queue, limit: "maxRunningPerGroup" }, maxRunningPerGroup);
  if (rate !== undefined) set({ queue, limit: "rate" }, (rate.tasks * 1000) / rate.perMs);
}

function labelsOf(names: readonly string[], first: string, second: string): Record<string, string> {
  const [firstName = "", secondName] = names;
  return secondName === undefined ? { [firstName]: first } : { [firstName]: first, [secondName]: second };
}

/**
 * Queues that share a label show the age of their oldest task. A sum of ages would mean nothing.
 */
function oldestByLabel(queues: readonly QueueView[]): Map<string, number> {
  const oldest = new Map<string, number>();
  for (const { label, oldestAt } of queues) {
    if (oldestAt !== undefined) oldest.set(label, Math.min(oldestAt, oldest.get(label) ?? oldestAt));
  }
  return oldest;
}
