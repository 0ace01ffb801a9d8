// The core's one entrance. Events go in with the time, changes and effects come out; nothing here waits, reads a clock or
// draws a random number. What was committed is restored before the first event.

import { handleCancelAsked, handleOrder, handleSubmitted, handleWatched } from "./accepting.js";
import { handleAnswered, handleSought } from "./answering.js";
import { giveBack, handleAttempt, handleLeaseOver } from "./attempts.js";
import { levelLoad } from "./balance.js";
import type { Counters } from "./counters.js";
import type { DoorState } from "./door-state.js";
import type { Post, YardEvent } from "./events.js";
import {
  dropWatch,
  endTellings,
  endTellingsAhead,
  endWatch,
  forgetKeys,
  handleTold,
  handleUndelivered,
  tell,
  tellAgain,
  trimHistory,
} from "./finishing.js";
import { checkYard } from "./invariants.js";
import type { CoreOptions } from "./limits.js";
import { handleMemo } from "./memos.js";
import type { AttemptNumber, TaskId } from "./names.js";
import { dropClaim, expire, wake } from "./placing.js";
import type { DoorRecord, HistorySegment, KeyRecord, QueueRecord, StoredTask, TaskHead } from "./records.js";
import { endGrace, giveUpOn, Recovery } from "./recovery.js";
import { Step } from "./step.js";
import type { Instant, Moment } from "./time.js";
import type { Timed } from "./timed.js";
import type { QueueView, Why, WorkerView } from "./views.js";
import { viewQueue, whyWaiting } from "./why.js";
import {
  drainWorker,
  endHold,
  endUnserved,
  handleBeat,
  handleJoined,
  handleRetired,
  handleWanted,
  loseWorkers,
  viewWorker,
} from "./workers.js";
import { Yard } from "./yard.js";

export class Dispatcher {
  readonly #yard: Yard;
  #recovery: Recovery | undefined;

  /** `epoch` is committed and greater than any before; `now` is when restoring begins. */
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
    this.#yard.history.restore(segment, this.#yard.now);
  }

  /** Restoring is over. `lastTask` and `lastSettled` are the highest numbers ever used. */
  begin(last: { lastTask: number; lastSettled: number }, now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    this.#yard.lastTask = last.lastTask;
    this.#yard.lastRestored = last.lastTask;
    this.#yard.history.restoreLast(last.lastSettled);
    this.#restoring().finish();
    this.#recovery = undefined;
    return step;
  }

  handle(post: Post, now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    const door = this.#yard.door(post.door);
    if (!this.#takeIn(door, post)) return step;
    this.#handleEvent(door, post.event);
    return step;
  }

  /** Does what is due. Early or repeated calls do nothing. */
  handleTimeout(now: Moment, step = new Step()): Step {
    this.#enter(now, step);
    for (;;) {
      const deadline = this.#yard.deadlines.takeDue(now.instant);
      if (deadline === undefined) return step;
      this.#handleDue(deadline.subject);
    }
  }

  nextDeadline(): Instant | undefined {
    return this.#yard.deadlines.next();
  }

  /** Whether this attempt holds its task now. */
  isHeld(id: TaskId, attempt: AttemptNumber): boolean {
    const task = this.#yard.tasks.get(id);
    return task !== undefined && task.state === "running" && task.lease?.attempt === attempt;
  }

  /** The tasks that came in by this door and have no outcome yet, or one that was not told. */
  *untoldOf(door: string): Generator<TaskHead> {
    for (const task of this.#yard.tasks) {
      if (task.head.door === door && task.place !== "lingering") yield task.head;
    }
  }

  /** The highest number of a task that was accepted before this start; 0 when there was none. */
  get lastRestored(): TaskId {
    return this.#yard.lastRestored as TaskId;
  }

  /** Whether this attempt was lifted and its worker has not answered yet, so that it keeps a slot taken. */
  isLifted(attempt: AttemptNumber): boolean {
    return this.#yard.lifted.has(attempt);
  }

  /** The engine has these bytes safe and apart from the record: they need not lie in memory while the task waits. */
  dropBytes(id: TaskId, part: "payload" | "result"): void {
    this.#yard.tasks.get(id)?.dropBytes(part);
  }

  /** A task that is in memory, as it is now. */
  liveTask(id: TaskId): StoredTask | undefined {
    const task = this.#yard.tasks.get(id);
    if (task === undefined) return undefined;
    const progress = task.progress();
    // What the record says ahead is so when the outcome has left.
    return { head: task.head, progress: task.place === "telling" ? { ...progress, told: false } : progress };
  }

  why(id: TaskId, now: Moment): Why | undefined {
    this.#yard.now = now;
    const task = this.#yard.tasks.get(id);
    return task === undefined ? undefined : whyWaiting(this.#yard, task);
  }

  workers(): WorkerView[] {
    return [
      ...[...this.#yard.workers.values()].map((worker) => viewWorker(worker)),
      ...this.#yard.lostWorkers,
    ];
  }

  queues(): QueueView[] {
    return [...this.#yard.queues.values()].map((queue) => viewQueue(this.#yard, queue));
  }

  get counters(): Counters {
    return this.#yard.counters;
  }

  /** Tasks in memory: what a check of the invariants walks over. */
  get liveTasks(): number {
    return this.#yard.tasks.size;
  }

  /** Attempts that are out now. */
  get running(): number {
    let running = 0;
    for (const queue of this.#yard.queues.values()) running += queue.running;
    return running;
  }

  checkInvariants(): void {
    checkYard(this.#yard);
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

  /** Whether a post is new. A gap means that posts were lost, and with them what the door's peers did. */
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

  /** Its peers are gone, and so is whoever made its requests: nothing is answered. */
  #loseDoor(door: DoorState): void {
    for (const { offer } of [...door.claims.values()]) if (offer !== undefined) dropClaim(this.#yard, offer);
    loseWorkers(this.#yard, [...door.workers], "door_lost");
    for (const watch of [...door.watches.values()]) dropWatch(this.#yard, watch);
  }

  #handleEvent(door: DoorState, event: YardEvent): void {
    const yard = this.#yard;
    switch (event.type) {
      case "task-submitted":
        return handleSubmitted(yard, door, event);
      case "attempt-done":
      case "attempt-failed":
      case "attempt-lost":
      case "attempt-returned":
      case "attempt-beat":
        return handleAttempt(yard, door, event);
      case "outcomes-told":
        return this.#handleTold(door, event.tasks);
      case "outcome-undelivered":
        return handleUndelivered(yard, door, yard.tasks.get(event.task), event.again);
      case "worker-joined":
        return handleJoined(yard, door, event);
      case "worker-beat":
        return handleBeat(yard, door, event);
      case "work-wanted":
        return handleWanted(yard, door, event);
      case "worker-left":
        return this.#handleLeft(door, event);
      case "worker-retired":
        return handleRetired(yard, door, event);
      case "cancel-asked":
        return handleCancelAsked(yard, door, event);
      case "task-sought":
        return handleSought(yard, door, event);
      case "task-answered":
        return handleAnswered(yard, door, event);
      case "task-watched":
        return handleWatched(yard, door, event);
      case "request-dropped":
        return this.#handleDropped(door, event.request);
      case "worker-drain-asked":
        return this.#handleDrainAsked(door, event);
      case "queue-order-given":
        return handleOrder(yard, door, event);
      case "memo-written":
        return handleMemo(yard, door, event);
      case "memo-dropped":
        return yard.step.change({ kind: "memo-gone", door: door.name, name: event.name });
      case "door-opened":
        door.forgets = event.forgets === true;
        door.resumes = event.resumes === true;
        if (door.forgets) giveUpOn(yard, door);
        return tellAgain(yard, door);
      case "store-room-changed":
        yard.shortage = event.shortage;
        return;
      case "memory-noted":
        yard.isShortOfMemory = event.isShort;
        return;
      case "yard-closing":
        yard.isClosing = true;
        for (const each of yard.doors.values()) this.#endClaims(each);
        return;
      case "yard-closed":
        return this.#handleClosed();
      default:
        event satisfies never;
    }
  }

  #handleTold(door: DoorState, tasks: readonly TaskId[]): void {
    const { step } = this.#yard;
    const { isUrgent } = step;
    for (const task of tasks) handleTold(this.#yard, door, this.#yard.tasks.get(task));
    step.isUrgent = isUrgent;
  }

  #handleLeft(door: DoorState, event: Extract<YardEvent, { type: "worker-left" }>): void {
    const worker = this.#yard.workers.get(event.worker);
    if (worker === undefined || worker.door !== door)
      this.#yard.counters.senseless.add(door.name, "worker-left");
    else loseWorkers(this.#yard, [worker], event.reason, event.message);
  }

  #handleDropped(door: DoorState, request: number): void {
    const offer = door.claims.get(request)?.offer;
    if (offer !== undefined) dropClaim(this.#yard, offer);
    const watch = door.watches.get(request);
    if (watch !== undefined) dropWatch(this.#yard, watch);
  }

  #handleDrainAsked(door: DoorState, event: Extract<YardEvent, { type: "worker-drain-asked" }>): void {
    const worker = this.#yard.workers.get(event.worker);
    if (worker === undefined) {
      const message = `There is no worker ${event.worker}.`;
      this.#yard.reply(door, event.request, { type: "refused", code: "not_found", message });
      return;
    }
    drainWorker(this.#yard, worker);
    this.#yard.reply(door, event.request, { type: "granted" });
  }

  #endClaims(door: DoorState): void {
    for (const { offer } of [...door.claims.values()])
      if (offer !== undefined) endUnserved(this.#yard, offer);
  }

  #handleClosed(): void {
    this.#yard.isClosing = true;
    for (const worker of this.#yard.workers.values()) {
      // On record as running, as after a crash: a worker that is found at work after the start gets its lease back.
      if (worker.door.resumes) continue;
      for (let lease = worker.newest; lease !== undefined; ) {
        const { older } = lease;
        if (!lease.isLifted) giveBack(this.#yard, lease, "drain", 0);
        lease = older;
      }
    }
    endTellingsAhead(this.#yard);
  }

  #handleDue(due: Timed): void {
    const yard = this.#yard;
    switch (due.type) {
      case "wake":
        return wake(yard, due.task);
      case "expire":
        return expire(yard, due.task);
      case "tell":
        return tell(yard, due.task);
      case "tellings":
        return endTellings(yard);
      case "lease":
        return handleLeaseOver(yard, due.lease);
      case "claim":
        if (due.claim.offer !== undefined) endUnserved(yard, due.claim.offer);
        return;
      case "watch":
        return endWatch(yard, due.watch, false);
      case "hold":
        return endHold(yard, due.worker);
      case "linger":
        return yard.dropIfEmpty(due.queue);
      case "balance":
        return levelLoad(yard, due.queue);
      case "grace":
        return endGrace(yard);
      case "keys":
        return forgetKeys(yard);
      case "retention":
        return trimHistory(yard);
      default:
        due satisfies never;
    }
  }
}
