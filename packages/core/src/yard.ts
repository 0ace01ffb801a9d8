// The core's whole state, and the few things every part of it needs: the time and the step of the event under way, and
// the tables by name. The parts (placing, attempts, finishing, …) are functions over it; who writes what is said there.

import { Chain } from "./chain.js";
import { Counters } from "./counters.js";
import { Deadline, Deadlines } from "./deadlines.js";
import { DoorState, type Watch } from "./door-state.js";
import type { Answer } from "./effects.js";
import { Fifo } from "./fifo.js";
import { History } from "./history.js";
import { FinishedKeys } from "./keys.js";
import type { Lease } from "./lease.js";
import type { CoreOptions, LimitName } from "./limits.js";
import { type AttemptNumber, queueNamePattern, type RequestId, type TaskId, type WorkerId } from "./names.js";
import { Queue } from "./queue.js";
import { QueueLabels } from "./queue-labels.js";
import { Step } from "./step.js";
import type { Task } from "./task.js";
import { TaskTable } from "./task-table.js";
import type { Instant, Moment, WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { WorkerView } from "./views.js";
import type { Worker } from "./worker.js";

export class Yard {
  readonly options: CoreOptions;
  readonly epoch: number;
  readonly counters = new Counters();
  readonly deadlines = new Deadlines<Timed>();
  /** Every task that is not settled, and those that linger. */
  readonly tasks = new TaskTable();
  readonly queues = new Map<string, Queue>();
  readonly #queueLabels: QueueLabels;
  readonly workers = new Map<WorkerId, Worker>();
  readonly doors = new Map<string, DoorState>();
  /** Who waits for which task's outcome. */
  readonly watches = new Map<TaskId, Set<Watch>>();
  /** Leases that no longer hold their task but whose worker has not answered yet. */
  readonly lifted = new Map<AttemptNumber, Lease>();
  readonly finishedKeys = new FinishedKeys();
  readonly keysDeadline = new Deadline<Timed>({ type: "keys" });
  readonly history: History;
  readonly retentionDeadline = new Deadline<Timed>({ type: "retention" });
  /** Tasks that were running when we stopped. Empty once the grace period is over. */
  readonly recovering = new Set<Task>();
  readonly graceDeadline = new Deadline<Timed>({ type: "grace" });
  /** Finished tasks whose asker is not told yet, of all doors, oldest first. */
  readonly untold = new Chain<Task>();
  readonly tellingEnd = new Deadline<Timed>({ type: "tellings" });
  readonly lingering = new Fifo<Task>();
  /** Those among them that only wait for their record to be put right. */
  readonly corrected = new Fifo<Task>();
  readonly lostWorkers = new Fifo<WorkerView>();
  lastTask = 0;
  /** The last task from before our start: workers may come back for those, and for no others. */
  lastRestored = 0;
  lastAttempt = 0;
  lastStamp = 0;
  isClosing = false;
  /** Why the store has no room for new tasks; undefined while it has. */
  shortage: string | undefined = undefined;
  /** New tasks are refused until the process has memory again. */
  isShortOfMemory = false;
  /** While several tasks are put back together: their queues, served when all are there. */
  returning: Set<Queue> | undefined = undefined;
  // The event under way.
  now: Moment = { instant: 0 as Instant, wall: 0 as WallTime };
  step = new Step();
  /** Whose event was handled last: they come in runs. */
  #recentDoor: DoorState | undefined = undefined;

  constructor(options: CoreOptions, epoch: number) {
    this.options = options;
    this.#queueLabels = new QueueLabels(options.queues.keys());
    this.epoch = epoch;
    this.history = new History(options.retention);
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

  /** The queue of this name, made if need be; undefined when there are too many, or it is no name for a queue. */
  queue(name: string, door: DoorState): Queue | undefined {
    const queue = this.queues.get(name);
    if (queue !== undefined) return queue;
    if (!queueNamePattern.test(name)) return undefined;
    if (this.options.queues.has(name)) return this.addQueue(name);
    const { limits } = this.options;
    const limit =
      this.queues.size >= limits.queues
        ? "queues"
        : door.queuesNamed >= limits.queuesPerDoor
          ? "queuesPerDoor"
          : undefined;
    if (limit === undefined) return this.addQueue(name, door);
    this.limitReached(limit);
    return undefined;
  }

  /** For a name that is known to be one, and for which there is room. */
  addQueue(name: string, namedBy?: DoorState): Queue {
    const { queues, queueDefaults } = this.options;
    const queue = new Queue(name, queues.get(name) ?? queueDefaults, this.#queueLabels);
    this.queues.set(name, queue);
    queue.namedBy = namedBy;
    if (namedBy !== undefined) namedBy.queuesNamed += 1;
    return queue;
  }

  /** Forgets a queue that holds nothing, so that names in passing do not pile up. */
  dropIfEmpty(queue: Queue): void {
    if (!queue.isEmpty || this.options.queues.has(queue.name)) return;
    if (queue.namedBy !== undefined && this.queues.has(queue.name)) queue.namedBy.queuesNamed -= 1;
    this.queues.delete(queue.name);
    if (queue.balance !== undefined) this.deadlines.disarm(queue.balance);
  }

  /** The subject's deadline, made if need be, armed for then. */
  armed(deadline: Deadline<Timed> | undefined, subject: Timed, at: Instant): Deadline<Timed> {
    const made = deadline ?? new Deadline<Timed>(subject);
    this.deadlines.arm(made, at);
    return made;
  }

  disarm(deadline: Deadline<Timed> | undefined): void {
    if (deadline !== undefined) this.deadlines.disarm(deadline);
  }

  reply(door: DoorState, request: RequestId | undefined, answer: Answer): void {
    if (request !== undefined) this.step.effects.push({ type: "reply", door: door.name, request, answer });
  }

  /** Words from outside, as long as a record may hold. */
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
