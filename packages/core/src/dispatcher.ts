// The core's only entry point. Events go in with the time; changes and effects come out. Nothing
// here waits, reads a clock or draws a random number. Committed state is restored before the first
// event.

import { admits } from "./accepting.js";
import { expectAnswer } from "./attempts.js";
import type { Counters } from "./counters.js";
import { releaseDependents } from "./dependencies.js";
import type { DoorState } from "./door-state.js";
import { handleDue, handleEvent } from "./event-handlers.js";
import type { AttemptRef, Post, Submission } from "./events.js";
import { dropWatch } from "./finishing.js";
import { checkYard } from "./invariants.js";
import type { CoreOptions } from "./limits.js";
import type { AttemptNumber, TaskId, WorkerId } from "./names.js";
import type { Observer, SeenAttempt } from "./observer.js";
import { dropClaim, serveFreedQueues } from "./placing.js";
import type {
  DoorRecord,
  HistorySegment,
  KeyRecord,
  MemoRecord,
  QueueRecord,
  StoredTask,
  TaskHead,
} from "./records.js";
import { Recovery } from "./recovery.js";
import { readScheduleMemo, type ScheduleView } from "./schedule.js";
import { addSchedule, viewSchedule } from "./scheduling.js";
import { Step } from "./step.js";
import type { Instant, Moment } from "./time.js";
import type { QueueCounts, QueueView, TaskOutlook, Why, WorkerView } from "./views.js";
import { countQueue, viewOutlook, viewQueue, whyWaiting } from "./why.js";
import { expectDeparture, loseWorkers, viewWorker } from "./workers.js";
import { type GoneTally, Yard } from "./yard.js";

/** The highest numbers ever used. */
interface LastNumbers {
  readonly lastTask: number;
  readonly lastSettled: number;
  /** The last settled number of each lane of history, by lane. Absent if there is only lane 0. */
  readonly lanes?: readonly number[] | undefined;
}

export class Dispatcher {
  readonly #yard: Yard;
  #recovery: Recovery | undefined;

  /**
   * `epoch` is committed and greater than every earlier one. `now` is the moment at which restoring
   * begins.
   */
  constructor(options: CoreOptions, epoch: number, now: Moment) {
    this.#yard = new Yard(options, epoch);
    this.#yard.now = now;
    this.#recovery = new Recovery(this.#yard);
  }

  restoreTask(stored: StoredTask): void {
    this.#restoring().task(stored);
  }

  restoreKey(record: KeyRecord): void {
    this.#restoring().key(record);
  }

  restoreQueue(record: QueueRecord): void {
    const queue = this.#restoring().queue(record.name);
    queue.isPaused = record.paused;
    queue.isDraining = record.draining;
  }

  restoreDoor(record: DoorRecord): void {
    const door = this.#yard.door(record.name);
    door.incarnation = record.incarnation;
    door.mark = record.mark;
  }

  restoreSegment(segment: HistorySegment): void {
    this.#yard.histories.restore(segment, this.#yard.now);
  }

  /** Restores a memo of the core's own, which is one of `coreMemoDoor`. */
  restoreMemo(memo: MemoRecord): void {
    const schedule = readScheduleMemo(memo);
    if (schedule !== undefined) addSchedule(this.#yard, schedule.name, schedule.settings, schedule.state);
    else this.#restoring().memos.restore(memo);
  }

  /** Ends restoring. `lastTask` and `lastSettled` are the highest numbers ever used. */
  begin(last: LastNumbers, now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    this.#yard.lastTask = last.lastTask;
    this.#yard.lastRestored = last.lastTask;
    this.#yard.histories.restoreLast(last.lastSettled, last.lanes);
    this.#restoring().finish();
    this.#recovery = undefined;
    return step;
  }

  handle(post: Post, now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    const door = this.#yard.door(post.door);
    if (!this.#takeIn(door, post)) return step;
    handleEvent(this.#yard, door, post.event);
    if (this.#yard.freed.length > 0) serveFreedQueues(this.#yard);
    if (this.#yard.releases.size > 0) this.#release();
    return step;
  }

  /** Handles everything that is due. Early or repeated calls do nothing. */
  handleTimeout(now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    for (;;) {
      const deadline = this.#yard.deadlines.takeDue(now.instant);
      if (deadline === undefined) return step;
      handleDue(this.#yard, deadline.subject);
      if (this.#yard.freed.length > 0) serveFreedQueues(this.#yard);
      if (this.#yard.releases.size > 0) this.#release();
    }
  }

  nextDeadline(): Instant | undefined {
    return this.#yard.deadlines.next();
  }

  /** True while this attempt holds its task. */
  isHeld(id: TaskId, attempt: AttemptNumber): boolean {
    const task = this.#yard.tasks.get(id);
    return task !== undefined && task.state === "running" && task.lease?.attempt === attempt;
  }

  /**
   * Reserves the id of a task that is submitted later, with this `id`. Meanwhile other tasks are
   * accepted with greater ids.
   */
  reserveTask(): TaskId {
    return this.#yard.nextTask();
  }

  /**
   * False if this would be refused now, or if an earlier task has its key. Its payload need not be
   * stored then.
   */
  admits(submission: Submission): boolean {
    return admits(this.#yard, submission);
  }

  /**
   * True if this attempt holds its task. The caller has its answer and posts it later. Until then
   * neither the attempt's lease nor its time limit ends it.
   */
  expectAnswer(attempt: AttemptRef): boolean {
    return expectAnswer(this.#yard, attempt);
  }

  /** The worker has left, but its answer is posted first. Until then it gets no new work. */
  expectDeparture(door: string, worker: WorkerId): void {
    expectDeparture(this.#yard, door, worker);
  }

  /** Tasks submitted through this door whose outcome is missing or not delivered yet. */
  *openTasksOf(door: string): Generator<TaskHead> {
    for (const task of this.#yard.tasks) {
      if (task.head.door === door && task.place !== "lingering" && task.place !== "depended") yield task.head;
    }
  }

  get isShortOfMemory(): boolean {
    return this.#yard.isShortOfMemory;
  }

  /** The highest id of a task accepted before this start; 0 when there was none. */
  get lastRestored(): TaskId {
    return this.#yard.lastRestored as TaskId;
  }

  /** The number of the last task that was accepted. */
  get lastTask(): TaskId {
    return this.#yard.lastTask as TaskId;
  }

  /**
   * True while this attempt is revoked and its worker has not answered, so that its slot is still
   * taken.
   */
  isRevoked(attempt: AttemptNumber): boolean {
    return this.#yard.revoked.has(attempt);
  }

  /** Drops a body from memory, once the engine has committed its bytes out of line. */
  dropBytes(id: TaskId, part: "payload" | "result"): void {
    this.#yard.tasks.get(id)?.dropBytes(part);
  }

  /** A task in memory, in its current state. */
  liveTask(id: TaskId): StoredTask | undefined {
    const task = this.#yard.tasks.get(id);
    if (task === undefined) return undefined;
    const progress = task.progress();
    // The record may say `told` in advance. That is true only once the outcome has been delivered.
    return { head: task.head, progress: task.place === "telling" ? { ...progress, told: false } : progress };
  }

  /** Tasks that depend on this one and have not ended, the oldest first; at most `max`. */
  dependents(id: TaskId, max: number): TaskId[] {
    const found: TaskId[] = [];
    for (const { head } of this.#yard.tasks.get(id)?.bonds?.dependents ?? []) {
      if (found.length >= max) break;
      found.push(head.id);
    }
    return found;
  }

  why(id: TaskId, now: Moment): Why | undefined {
    this.#yard.now = now;
    const task = this.#yard.tasks.get(id);
    return task === undefined ? undefined : whyWaiting(this.#yard, task);
  }

  workers(now = this.#yard.now): WorkerView[] {
    this.#yard.now = now;
    return [
      ...[...this.#yard.workers.values()].map((worker) => viewWorker(this.#yard, worker)),
      ...this.#yard.lostWorkers,
    ];
  }

  /** The counts of each queue. */
  *queueCounts(): Generator<QueueCounts> {
    for (const queue of this.#yard.queues.values()) yield countQueue(queue);
  }

  /** Tallies of queues that were forgotten since this was last asked. */
  takeGoneTallies(): GoneTally[] {
    return this.#yard.goneTallies.splice(0);
  }

  /** Attempts that are out now; not to be kept. */
  *attempts(): Generator<SeenAttempt> {
    for (const worker of this.#yard.workers.values()) {
      for (let lease = worker.oldest; lease !== undefined; lease = lease.newer)
        if (!lease.isRevoked) yield lease;
    }
  }

  /** There is one observer at most; undefined removes it. */
  observe(observer: Observer | undefined): void {
    this.#yard.observer = observer;
  }

  /**
   * Facts about a live task that are not in its record: the number of tasks before it, and its
   * attempt's deadline.
   */
  outlook(id: TaskId, now: Moment): TaskOutlook {
    return viewOutlook(this.#yard.tasks.get(id), now);
  }

  queues(now = this.#yard.now): QueueView[] {
    this.#yard.now = now;
    return [...this.#yard.queues.values()].map((queue) => viewQueue(this.#yard, queue));
  }

  /** The queue of this name. One with configured settings is there before its first use. */
  queue(name: string): QueueView | undefined {
    const { queues, options } = this.#yard;
    const queue = queues.get(name) ?? (options.queues.has(name) ? this.#yard.addQueue(name) : undefined);
    return queue === undefined ? undefined : viewQueue(this.#yard, queue);
  }

  schedules(): ScheduleView[] {
    return [...this.#yard.schedules.values()].map(viewSchedule);
  }

  get counters(): Counters {
    return this.#yard.counters;
  }

  /** Number of tasks in memory, which is what an invariant check walks over. */
  get liveTasks(): number {
    return this.#yard.tasks.size;
  }

  /** Number of attempts that are running. */
  get running(): number {
    let running = 0;
    for (const queue of this.#yard.queues.values()) running += queue.running;
    return running;
  }

  checkInvariants(): void {
    checkYard(this.#yard);
  }

  /** Does nothing while a later step is armed, so that a turn of many events is bounded too. */
  #release(): void {
    if (!this.#yard.releaseDeadline.isArmed) releaseDependents(this.#yard);
  }

  #restoring(): Recovery {
    if (this.#recovery === undefined)
      throw new Error("the core has begun; nothing can be restored into it any more");
    return this.#recovery;
  }

  #enter(now: Moment, step: Step): void {
    this.#yard.now = now;
    this.#yard.step = step;
  }

  /**
   * True if a post is new. A gap in the numbers means that posts, and thus messages of the door's
   * peers, were lost.
   */
  #takeIn(door: DoorState, post: Post): boolean {
    const { event, number } = post;
    if (event.type === "door-opened" && event.incarnation !== door.incarnation) {
      this.#loseDoor(door);
      door.incarnation = event.incarnation;
    } else if (number <= door.mark) {
      this.#yard.counters.repeatedPosts.add(door.name);
      return false;
    } else if (number > door.mark + 1) {
      this.#loseDoor(door);
    }
    door.mark = number;
    this.#yard.step.mark(door);
    return true;
  }

  /**
   * Drops the door's peers and requests. Its requests are not answered, because their clients are
   * gone.
   */
  #loseDoor(door: DoorState): void {
    for (const { offer } of [...door.claims.values()]) if (offer !== undefined) dropClaim(this.#yard, offer);
    loseWorkers(this.#yard, [...door.workers], "door_lost");
    for (const watch of [...door.watches.values()]) dropWatch(this.#yard, watch);
  }
}
