// The core's only entry point. Events go in with the time; changes and effects come out. Nothing
// here waits, reads a clock or draws a random number. Committed state is restored before the first
// event.

import { admits } from "./admission.js";
import type { AttemptRef } from "./attempt-events.js";
import type { Counters } from "./counters.js";
import { releaseDependents } from "./dependencies.js";
import { takeIn } from "./door-posts.js";
import { handleDue, handleEvent } from "./event-handlers.js";
import type { Post } from "./events.js";
import { expectAnswer } from "./fence.js";
import { checkYard } from "./invariants.js";
import type { CoreOptions } from "./limits.js";
import { serveFreedQueues } from "./matching.js";
import type { AttemptNumber, TaskId, WorkerId } from "./names.js";
import type { Observer } from "./observer.js";
import type { TaskHead } from "./records.js";
import { Recovery } from "./recovery.js";
import { Step } from "./step.js";
import type { Submission } from "./submission.js";
import type { Instant, Moment } from "./time.js";
import { expectDeparture } from "./workers.js";
import { type GoneTally, Yard } from "./yard.js";
import { YardView } from "./yard-view.js";

/** The highest numbers ever used. */
interface LastNumbers {
  readonly lastTask: number;
  readonly lastSettled: number;
  /** The last settled number of each lane of history, by lane. Absent if there is only lane 0. */
  readonly lanes?: readonly number[] | undefined;
}

export class Dispatcher {
  readonly #yard: Yard;
  /** What people ask about the yard. */
  readonly view: YardView;
  #recovery: Recovery | undefined;

  /**
   * `epoch` is committed and greater than every earlier one. `now` is the moment at which restoring
   * begins.
   */
  constructor(options: CoreOptions, epoch: number, now: Moment) {
    this.#yard = new Yard(options, epoch);
    this.#yard.now = now;
    this.#recovery = new Recovery(this.#yard);
    this.view = new YardView(this.#yard);
  }

  /** Restores what was committed. Only before `begin`. */
  get recovery(): Recovery {
    if (this.#recovery === undefined)
      throw new Error("the core has begun; nothing can be restored into it any more");
    return this.#recovery;
  }

  /** Ends restoring. `lastTask` and `lastSettled` are the highest numbers ever used. */
  begin(last: LastNumbers, now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    this.#yard.lastTask = last.lastTask;
    this.#yard.lastRestored = last.lastTask;
    this.#yard.histories.restoreLast(last.lastSettled, last.lanes);
    this.recovery.finish();
    this.#recovery = undefined;
    return step;
  }

  handle(post: Post, now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    const door = this.#yard.door(post.door);
    if (!takeIn(this.#yard, door, post)) return step;
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

  /** Tallies of queues that were forgotten since this was last asked. */
  takeGoneTallies(): GoneTally[] {
    return this.#yard.goneTallies.splice(0);
  }

  /** There is one observer at most; undefined removes it. */
  observe(observer: Observer | undefined): void {
    this.#yard.observer = observer;
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

  #enter(now: Moment, step: Step): void {
    this.#yard.now = now;
    this.#yard.step = step;
  }
}
