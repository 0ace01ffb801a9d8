// The core's whole state, and what every part of it needs: the time and step of the current event,
// and the tables by name. The parts (placing, attempts, finishing, …) are functions over it; each
// says which fields it writes.

import type { Release } from "./bonds.js";
import { Chain } from "./chain.js";
import { Counters } from "./counters.js";
import { Deadline, Deadlines } from "./deadlines.js";
import { DoorState, type Watch } from "./door-state.js";
import type { RequestAnswer } from "./effects.js";
import { Fifo } from "./fifo.js";
import { Histories } from "./histories.js";
import { FinishedKeys } from "./keys.js";
import type { Lease } from "./lease.js";
import type { CoreOptions, LimitName } from "./limits.js";
import { type AttemptNumber, queueNamePattern, type RequestId, type TaskId, type WorkerId } from "./names.js";
import type { Observer } from "./observer.js";
import { Queue } from "./queue.js";
import { QueueLabels } from "./queue-labels.js";
import type { QueueTally } from "./queue-tally.js";
import type { Schedule } from "./schedule.js";
import { Step } from "./step.js";
import type { Task } from "./task.js";
import { TaskTable } from "./task-table.js";
import type { Instant, Moment, WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import { Untold } from "./untold.js";
import type { WorkerView } from "./views.js";
import type { Worker } from "./worker.js";
import { freeQuota, queueQuotaRefusal, takeQuota } from "./worker-quota.js";

/** Tallies that are not collected are dropped soon. */
const goneTalliesMax = 1_000;

export interface GoneTally {
  readonly name: string;
  readonly tally: QueueTally;
}

export class Yard {
  readonly options: CoreOptions;
  readonly epoch: number;
  readonly counters = new Counters();
  readonly deadlines = new Deadlines<Timed>();
  /** Every task that is not settled, and the lingering ones. */
  readonly tasks = new TaskTable();
  readonly queues = new Map<string, Queue>();
  readonly #queueLabels: QueueLabels;
  readonly workers = new Map<WorkerId, Worker>();
  readonly doors = new Map<string, DoorState>();
  /** Requests that wait for an outcome, by task. */
  readonly watches = new Map<TaskId, Set<Watch>>();
  /** Revoked leases whose worker has not answered yet. */
  readonly revoked = new Map<AttemptNumber, Lease>();
  readonly finishedKeys = new FinishedKeys();
  readonly keysDeadline = new Deadline<Timed>({ type: "keys" });
  readonly histories: Histories;
  readonly retentionDeadline = new Deadline<Timed>({ type: "retention" });
  /** Tasks that were running when the dispatcher stopped. Empty once the grace period is over. */
  readonly recovering = new Set<Task>();
  readonly graceDeadline = new Deadline<Timed>({ type: "grace" });
  readonly untold = new Untold();
  readonly tellingEnd = new Deadline<Timed>({ type: "tellings" });
  /** Finished tasks that wait for their dependents to end, oldest first. */
  readonly depended = new Chain<Task>();
  /** Finished tasks whose dependents have not all heard of it. */
  readonly releases = new Fifo<Release>();
  readonly releaseDeadline = new Deadline<Timed>({ type: "releases" });
  readonly lingering = new Fifo<Task>();
  /** Lingering tasks that only wait for the commit of a correction. */
  readonly corrected = new Fifo<Task>();
  readonly schedules = new Map<string, Schedule>();
  readonly lostWorkers = new Fifo<WorkerView>();
  /** Tallies of forgotten queues. The history collects them, so that its totals miss nothing. */
  readonly goneTallies: GoneTally[] = [];
  observer: Observer | undefined = undefined;
  lastTask = 0;
  /** The last task accepted before our start. Workers may resume those, and no others. */
  lastRestored = 0;
  lastAttempt = 0;
  lastStamp = 0;
  isClosing = false;
  /** Why the store has no room for new tasks; undefined while it has. */
  shortage: string | undefined = undefined;
  /** True while new tasks are refused for lack of memory. */
  isShortOfMemory = false;
  /**
   * Set while several tasks are put back together: their queues, which are served once all are in
   * place.
   */
  returning: Set<Queue> | undefined = undefined;
  /** Queues in which a task may start that could not before. They are served after the event. */
  freed: Queue[] = [];
  // The current event.
  now: Moment = { instant: 0 as Instant, wall: 0 as WallTime };
  step = new Step();
  /** The door of the last event. Events of one door come in runs. */
  #recentDoor: DoorState | undefined = undefined;

  constructor(options: CoreOptions, epoch: number) {
    this.options = options;
    this.#queueLabels = new QueueLabels(options.queues.keys());
    this.epoch = epoch;
    this.histories = new Histories(options.retention);
  }

  nextTask(): TaskId {
    this.lastTask += 1;
    return this.lastTask as TaskId;
  }

  door(name: string): DoorState {
    if (this.#recentDoor?.name === name) return this.#recentDoor;
    let door = this.doors.get(name);
    if (door === undefined) {
      door = new DoorState(name);
      this.doors.set(name, door);
    }
    this.#recentDoor = door;
    return door;
  }

  /**
   * The queue of this name, created if necessary; undefined if there are too many or the name is
   * invalid.
   */
  queue(name: string, door: DoorState, host?: string): Queue | undefined {
    const queue = this.queues.get(name);
    if (queue !== undefined) return queue;
    if (!queueNamePattern.test(name)) return undefined;
    if (this.options.queues.has(name)) return this.addQueue(name);
    const limit = queueQuotaRefusal(door, host, this.queues.size, this.options.limits);
    if (limit === undefined) return this.addQueue(name, door, host);
    this.limitReached(limit);
    return undefined;
  }

  /** The name must be valid, and there must be room. */
  addQueue(name: string, namedBy?: DoorState, host?: string): Queue {
    const { queues, queueDefaults } = this.options;
    const queue = new Queue(name, queues.get(name) ?? queueDefaults, this.#queueLabels);
    this.queues.set(name, queue);
    queue.namedBy = namedBy;
    queue.namedAt = host;
    if (namedBy !== undefined) namedBy.queuesNamed += 1;
    if (namedBy !== undefined && host !== undefined) takeQuota(namedBy.queuesByHost, host);
    return queue;
  }

  /** Forgets a queue that holds nothing, so that names mentioned once do not accumulate. */
  dropIfEmpty(queue: Queue): void {
    if (!queue.isEmpty || this.options.queues.has(queue.name)) return;
    if (this.queues.delete(queue.name)) {
      freeName(queue);
      if (queue.tally.submitted.total > 0) this.#keepTally(queue);
    }
    if (queue.balance !== undefined) this.deadlines.disarm(queue.balance);
  }

  #keepTally({ name, tally }: Queue): void {
    this.goneTallies.push({ name, tally });
    if (this.goneTallies.length > goneTalliesMax) this.goneTallies.splice(0, goneTalliesMax / 2);
  }

  /** Arms the subject's deadline, creating it if necessary. */
  armed(deadline: Deadline<Timed> | undefined, subject: Timed, at: Instant): Deadline<Timed> {
    const made = deadline ?? new Deadline<Timed>(subject);
    this.deadlines.arm(made, at);
    return made;
  }

  disarm(deadline: Deadline<Timed> | undefined): void {
    if (deadline !== undefined) this.deadlines.disarm(deadline);
  }

  reply(door: DoorState, request: RequestId | undefined, answer: RequestAnswer): void {
    if (request !== undefined) this.step.effects.push({ type: "reply", door: door.name, request, answer });
  }

  /** Cuts a peer's text to the length that a record may hold. */
  bounded(words: string): string {
    const { messageLength } = this.options.limits;
    if (words.length <= messageLength) return words;
    this.limitReached("messageLength");
    return words.slice(0, messageLength);
  }

  limitReached(name: LimitName): void {
    this.counters.limitsReached.add(name);
  }
}

function freeName({ namedBy, namedAt }: Queue): void {
  if (namedBy === undefined) return;
  namedBy.queuesNamed -= 1;
  if (namedAt !== undefined) freeQuota(namedBy.queuesByHost, namedAt);
}
