// Makes steps durable: one batch is in flight while the next one gathers. Effects of a batch leave
// when it is committed. An assignment of a task that is already committed leaves at once.

import {
  type Body,
  type Change,
  type Effect,
  Step,
  type StoredTask,
  type TaskHead,
  type TaskId,
} from "@yardmaster/core";
import type { Batch, BodyPart, CommitOutcome, Engine } from "@yardmaster/engines";
import type { Clock } from "./clock.js";

/** An uncertain commit is retried after this time, then after twice that, and so on. */
const retryMsMin = 20;
/**
 * How long a delivered outcome or an assignment may stay uncommitted. After a crash within this
 * time it is repeated.
 */
const lazyMs = 20;
/**
 * If more changes than this arrive per millisecond, and not just in one burst, batches start at
 * least `minBatchIntervalMs` of the engine apart, or when they hold `manyChanges`.
 */
const busyChangesPerMs = 64;
const manyChanges = 512;
/** An engine that gave no definite answer for this long will not recover. */
const retryMsMax = 10_000;

/** Effects and callbacks that wait for a batch. */
interface AwaitingCommit {
  readonly effects: Effect[];
  readonly barriers: (() => void)[];
}

interface InFlight extends AwaitingCommit {
  readonly batch: Batch;
  readonly lastTask: number;
  readonly startedAt: number;
  readonly outOfLine: readonly OutOfLineBody[];
  /** Its tasks whose ids were reserved. */
  readonly late: ReadonlySet<TaskId>;
}

interface OutOfLineBody {
  readonly task: TaskId;
  readonly part: BodyPart;
  readonly body: Body;
}

/** A body that was given to the engine before its task or outcome was decided. */
export interface EarlyBody extends OutOfLineBody {
  /** Undefined once the engine has it. */
  storing: Promise<void> | undefined;
}

export interface CommitsOptions {
  readonly engine: Engine;
  readonly epoch: number;
  readonly clock: Clock;
  readonly deliver: (effects: readonly Effect[]) => void;
  /** Memory is permanently ahead of the disk, so the process must end. */
  readonly onFatal: (fault: Error) => void;
  /** The engine has committed these bytes outside their record. */
  readonly onOutOfLine: (task: TaskId, part: BodyPart) => void;
  /** Called before the effects that waited for the commit are delivered. */
  readonly onCommitted: (ms: number, changes: readonly Change[]) => void;
}

export class Commits {
  readonly #options: CommitsOptions;
  #gathering = new Step();
  #held: AwaitingCommit = { effects: [], barriers: [] };
  #inFlight: InFlight | undefined;
  #committedTask = 0;
  /** Reserved ids of tasks that are not committed. Later tasks may be. */
  readonly #reserved = new Set<TaskId>();
  /** Bodies of the events since the last batch. */
  #early: EarlyBody[] = [];
  #batchNumber = 0;
  #isStopped = false;
  #lazyTimer: (() => void) | undefined;
  /** When the last batch started, and whether it held more than `busyChangesPerMs`. */
  #startedAt = 0;
  #isBusy = false;
  #paceTimer: (() => void) | undefined;
  /** Changes that were allowed to wait have reached `lazyMs`. */
  #isOverdue = false;

  constructor(options: CommitsOptions, committedTask: number) {
    this.#options = options;
    this.#committedTask = committedTask;
  }

  /** Where the core gathers the changes and effects of this turn. */
  get step(): Step {
    return this.#gathering;
  }

  get isIdle(): boolean {
    const { hasChanges, hasBegun } = this.#gathering;
    return this.#inFlight === undefined && !hasChanges && !hasBegun && this.#held.effects.length === 0;
  }

  /** Duration of the batch in flight so far; 0 if there is none. */
  get underWayMs(): number {
    return this.#inFlight === undefined ? 0 : this.#options.clock.instant() - this.#inFlight.startedAt;
  }

  /** True if the acceptance of this task is committed. */
  hasAccepted(task: TaskId): boolean {
    return task <= this.#committedTask && !this.#reserved.has(task);
  }

  /** This task is submitted later than others with greater ids. */
  reserve(task: TaskId): void {
    this.#reserved.add(task);
  }

  /**
   * The next event may bring this body into the next batch. The batch then waits for it; otherwise
   * the event was refused, and the engine drops the body.
   */
  expect(body: EarlyBody): void {
    this.#early.push(body);
  }

  /**
   * Ends a turn: delivers the effects that need not wait, and starts the next batch if none is in
   * flight.
   */
  endTurn(): void {
    this.#endTurnWith(undefined);
  }

  /** `safe` waited for the batch that was just committed, and is delivered now. */
  #endTurnWith(safe: AwaitingCommit | undefined): void {
    if (this.#isStopped) return;
    const now: Effect[] = [];
    for (const effect of this.#gathering.takeEffects()) this.#holdFor(effect, now).push(effect);
    // The disk goes first: it works while doors write, and every effect waits for it.
    if (this.#gathering.hasChanges) this.#commitNext();
    if (safe !== undefined) this.#release(safe);
    if (now.length > 0) this.#options.deliver(now);
    this.#commitNext();
  }

  /** Runs `work` when everything decided so far is committed. */
  whenSafe(work: () => void): void {
    this.#held.barriers.push(work);
    this.endTurn();
  }

  /** Delivers nothing any more, not even the effects of a batch in flight. */
  stop(): void {
    this.#isStopped = true;
    this.#lazyTimer?.();
    this.#paceTimer?.();
  }

  /** The list for an effect: this turn's, or that of the batch for which it must wait. */
  #holdFor(effect: Effect, now: Effect[]): Effect[] {
    if (effect.type !== "assign" || effect.request !== undefined) return this.#held.effects;
    // The outcomes of the tasks on which it depends must be committed first.
    if (dependsOnOthers(effect.task)) return this.#held.effects;
    if (effect.waitsForCommit === true) return this.#held.effects;
    if (this.hasAccepted(effect.task.id)) return now;
    const inFlight = this.#inFlight;
    return inFlight !== undefined && this.#isIn(inFlight, effect.task.id)
      ? inFlight.effects
      : this.#held.effects;
  }

  #isIn({ late, lastTask }: InFlight, task: TaskId): boolean {
    return this.#reserved.has(task) ? late.has(task) : task <= lastTask;
  }

  #commitNext(): void {
    if (this.#isStopped || this.#inFlight !== undefined) return;
    const held = this.#held;
    if (this.#canWait(held)) return;
    const step = this.#gathering;
    // Callbacks read views, so everything that a view shows must be in this batch.
    const isWhole = this.#isOverdue || held.barriers.length > 0;
    if (!step.hasChanges && !(isWhole && step.hasBegun)) {
      if (held.effects.length === 0 && held.barriers.length === 0) return;
      this.#held = { effects: [], barriers: [] };
      this.#release(held);
      return;
    }
    const startedAt = this.#options.clock.instant();
    const sinceLast = startedAt - this.#startedAt;
    const pace = this.#options.engine.minBatchIntervalMs - sinceLast;
    if (this.#isBusy && pace > 0 && step.changeCount < manyChanges) return this.#commitIn(pace);
    this.#paceTimer?.();
    this.#paceTimer = undefined;
    this.#isOverdue = false;
    this.#gathering = new Step();
    const changes = step.takeChanges(isWhole ? undefined : this.#gathering);
    if (this.#gathering.hasBegun) this.#commitLater();
    this.#held = { effects: [], barriers: [] };
    this.#batchNumber += 1;
    const batch: Batch = { epoch: this.#options.epoch, number: this.#batchNumber, changes };
    this.#isBusy = changes.length > busyChangesPerMs * Math.max(2, sinceLast);
    this.#startedAt = startedAt;
    const { effects, barriers } = held;
    // A door that received effects at the end of this turn may have posted. The resulting effects
    // belong to this batch too.
    for (const effect of step.takeEffects()) effects.push(effect);
    const outOfLine = this.#outOfLineIn(changes);
    const late = this.#lateIn(changes);
    const { lastTask } = step;
    const inFlight: InFlight = { effects, barriers, batch, lastTask, startedAt, outOfLine, late };
    this.#inFlight = inFlight;
    const storing = this.#store(outOfLine);
    if (storing.length === 0) this.#send(inFlight, retryMsMin);
    else
      Promise.all(storing).then(
        () => this.#send(inFlight, retryMsMin),
        (error: unknown) => this.#fail(`a body could not be stored: ${messageOf(error)}`),
      );
  }

  #lateIn(changes: readonly Change[]): ReadonlySet<TaskId> {
    if (this.#reserved.size === 0) return noTasks;
    const heads = changes.flatMap((change) => (change.kind === "head" ? change.head.id : []));
    return new Set(heads.filter((id) => this.#reserved.has(id)));
  }

  /** Gives the engine the bodies that it does not have, and waits for those that it is storing. */
  #store(outOfLine: readonly OutOfLineBody[]): Promise<void>[] {
    const { engine } = this.#options;
    const early = this.#early;
    this.#early = [];
    const isIn = (list: readonly OutOfLineBody[], { task, part, body }: OutOfLineBody) =>
      list.find((each) => each.task === task && each.part === part && each.body.bytes === body.bytes);
    const storing: Promise<void>[] = [];
    const dropping = new Map<string, Promise<void>>();
    for (const each of early) {
      if (isIn(outOfLine, each) !== undefined) continue;
      if (each.part === "payload") this.#reserved.delete(each.task);
      const drop = () => engine.dropBody(each.task, each.part);
      dropping.set(`${each.part} ${each.task}`, each.storing?.then(drop) ?? drop());
    }
    for (const each of outOfLine) {
      const { task, part, body } = each;
      const given = isIn(early, each) as EarlyBody | undefined;
      // A dropped body of the same name goes first.
      const dropped = dropping.get(`${part} ${task}`);
      const put = () => engine.putBody(task, part, body);
      if (given === undefined) storing.push(dropped?.then(put) ?? put());
      else if (given.storing !== undefined) storing.push(given.storing);
    }
    storing.push(...dropping.values());
    return storing;
  }

  /**
   * True if nothing waits for these changes. They go with the next batch, or alone after `lazyMs`.
   */
  #canWait({ effects, barriers }: AwaitingCommit): boolean {
    if (this.#gathering.isUrgent || this.#isOverdue || effects.length > 0 || barriers.length > 0)
      return false;
    if (this.#gathering.hasChanges || this.#gathering.hasBegun) this.#commitLater();
    return true;
  }

  #commitIn(ms: number): void {
    this.#paceTimer ??= this.#options.clock.setTimer(ms, () => {
      this.#paceTimer = undefined;
      // Timer and clock may differ by a fraction of a millisecond, so the timer decides.
      this.#isBusy = false;
      this.endTurn();
    });
  }

  #commitLater(): void {
    this.#lazyTimer ??= this.#options.clock.setTimer(lazyMs, () => {
      this.#lazyTimer = undefined;
      this.#isOverdue = true;
      this.endTurn();
    });
  }

  /**
   * Bodies that are too large for a record. They are stored before the record that refers to them.
   */
  #outOfLineIn(changes: readonly Change[]): OutOfLineBody[] {
    const outOfLine: OutOfLineBody[] = [];
    const add = (task: TaskId, part: BodyPart, body: Body | undefined) => {
      if (body?.bytes !== undefined && body.size > this.#options.engine.inlineBytesMax)
        outOfLine.push({ task, part, body });
    };
    for (const change of changes) {
      if (change.kind === "head") add(change.head.id, "payload", change.head.payload);
      else if (change.kind === "progress") add(change.progress.id, "result", change.progress.result);
    }
    return outOfLine;
  }

  #send(inFlight: InFlight, retryMs: number): void {
    this.#options.engine.commit(inFlight.batch).then(
      (outcome) => this.#settle(inFlight, outcome, retryMs),
      (error: unknown) => this.#fail(messageOf(error)),
    );
  }

  #settle(inFlight: InFlight, outcome: CommitOutcome, retryMs: number): void {
    if (this.#isStopped) return;
    switch (outcome.type) {
      case "done":
        this.#inFlight = undefined;
        this.#committedTask = Math.max(this.#committedTask, inFlight.lastTask);
        for (const task of inFlight.late) this.#reserved.delete(task);
        for (const { task, part } of inFlight.outOfLine) this.#options.onOutOfLine(task, part);
        this.#options.onCommitted(this.#options.clock.instant() - inFlight.startedAt, inFlight.batch.changes);
        this.#endTurnWith(inFlight);
        return;
      case "unknown":
      case "unavailable":
        this.#retry(inFlight, outcome.message, retryMs);
        return;
      case "fenced":
        this.#fail(`another dispatcher has taken the store over: ${outcome.message}`);
        return;
      case "full":
        this.#fail(`the store is full: ${outcome.message}`);
        return;
      case "regressed":
        this.#fail(`the store has lost what was acknowledged, and must not be used: ${outcome.message}`);
        return;
      default:
        outcome satisfies never;
    }
  }

  #retry(inFlight: InFlight, message: string, retryMs: number): void {
    const { engine, clock } = this.#options;
    const never = Number.POSITIVE_INFINITY;
    const { everyMs = never, forMs = never } = engine.retry ?? {};
    const isOver = retryMs > retryMsMax || clock.instant() - inFlight.startedAt > forMs;
    if (isOver) this.#fail(`the engine gives no definite answer: ${message}`);
    else clock.setTimer(retryMs, () => this.#send(inFlight, Math.min(retryMs * 2, everyMs)));
  }

  #release(held: AwaitingCommit): void {
    if (held.effects.length > 0) this.#options.deliver(held.effects);
    for (const barrier of held.barriers) barrier();
  }

  #fail(message: string): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#options.onFatal(new Error(`A commit failed, so nothing more is accepted: ${message}`));
  }
}

/** True if the task waits or runs for the first time, and nothing else has happened to it. */
export function isOrdinary({ progress }: StoredTask): boolean {
  return progress === undefined || (progress.finishedAt === undefined && progress.story === undefined);
}

const noTasks: ReadonlySet<TaskId> = new Set();

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function dependsOnOthers({ relations }: TaskHead): boolean {
  return relations !== undefined && relations.after.length > 0;
}
