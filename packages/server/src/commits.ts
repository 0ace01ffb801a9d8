// The way to durability: one batch in flight, the next gathering. What was decided in a batch leaves when it is safe;
// an assignment of a task that is safe already leaves at once.

import { type Body, type Change, type Effect, Step, type TaskId } from "@yardmaster/core";
import type { Batch, BodyPart, CommitOutcome, Engine } from "@yardmaster/engines";
import type { Clock } from "./clock.js";

/** An uncertain commit is asked for again after this long, then twice that, and so on. */
const retryMsMin = 20;
/**
 * How long the news may stay uncommitted that an outcome was told, or a task given out: after a crash in that time it is
 * told, or given out, again.
 */
const lazyMs = 20;
/**
 * While so many changes come in a millisecond, and not just in one, batches begin as far apart as the engine likes, or when
 * they have many.
 */
const busyChangesPerMs = 64;
const manyChanges = 512;
/** An engine that has not given a sure answer after this long is not coming back. */
const retryMsMax = 10_000;

/** What waits for a batch. */
interface Held {
  readonly effects: Effect[];
  readonly barriers: (() => void)[];
}

interface InFlight extends Held {
  readonly batch: Batch;
  readonly lastTask: number;
  readonly startedAt: number;
  readonly apart: readonly ApartBody[];
}

interface ApartBody {
  readonly task: TaskId;
  readonly part: BodyPart;
  readonly body: Body;
}

export interface CommitsOptions {
  readonly engine: Engine;
  readonly epoch: number;
  readonly clock: Clock;
  readonly deliver: (effects: readonly Effect[]) => void;
  /** Memory is ahead of the disk for good: nothing may go on. */
  readonly onFatal: (fault: Error) => void;
  /** The engine keeps these bytes apart from their record, and has them safe. */
  readonly onApart: (task: TaskId, part: BodyPart) => void;
  /** Before what waited for them leaves. */
  readonly onCommitted: (ms: number, changes: readonly Change[]) => void;
}

export class Commits {
  readonly #options: CommitsOptions;
  #gathering = new Step();
  #held: Held = { effects: [], barriers: [] };
  #inFlight: InFlight | undefined;
  #committedTask = 0;
  #batchNumber = 0;
  #isStopped = false;
  #lazyTimer: (() => void) | undefined;
  /** When the last batch began, and whether more came with it than is good for batches as they come. */
  #startedAt = 0;
  #isBusy = false;
  #paceTimer: (() => void) | undefined;
  /** What could wait has waited long enough. */
  #isOverdue = false;

  constructor(options: CommitsOptions, committedTask: number) {
    this.#options = options;
    this.#committedTask = committedTask;
  }

  /** Where the core puts what comes of this turn. */
  get step(): Step {
    return this.#gathering;
  }

  get isIdle(): boolean {
    const { hasChanges, hasBegun } = this.#gathering;
    return this.#inFlight === undefined && !hasChanges && !hasBegun && this.#held.effects.length === 0;
  }

  /** Whether it is safe that this task was accepted. */
  hasAccepted(task: TaskId): boolean {
    return task <= this.#committedTask;
  }

  /** Ends a turn: what may leave leaves, what must wait waits, and the batch goes if none is under way. */
  endTurn(): void {
    this.#endTurnWith(undefined);
  }

  /** `safe`: what waited for the batch that has just been committed, and leaves with the rest. */
  #endTurnWith(safe: Held | undefined): void {
    if (this.#isStopped) return;
    const now: Effect[] = [];
    for (const effect of this.#gathering.takeEffects()) this.#holdFor(effect, now).push(effect);
    // The disk first: it works while doors write, and everybody waits for it.
    if (this.#gathering.hasChanges) this.#commitNext();
    if (safe !== undefined) this.#release(safe);
    if (now.length > 0) this.#options.deliver(now);
    this.#commitNext();
  }

  /** Runs `work` when everything decided so far is safe. */
  whenSafe(work: () => void): void {
    this.#held.barriers.push(work);
    this.endTurn();
  }

  /** Nothing leaves any more, not even what is under way. */
  stop(): void {
    this.#isStopped = true;
    this.#lazyTimer?.();
    this.#paceTimer?.();
  }

  /** The list an effect belongs to: this turn's, or that of the batch it has to wait for. */
  #holdFor(effect: Effect, now: Effect[]): Effect[] {
    if (effect.type !== "assign" || effect.request !== undefined) return this.#held.effects;
    if (this.hasAccepted(effect.task.id)) return now;
    const inFlight = this.#inFlight;
    return inFlight !== undefined && effect.task.id <= inFlight.lastTask
      ? inFlight.effects
      : this.#held.effects;
  }

  #commitNext(): void {
    if (this.#isStopped || this.#inFlight !== undefined) return;
    const held = this.#held;
    if (this.#canWait(held)) return;
    const step = this.#gathering;
    // What the views show has to be safe, too.
    const isWhole = this.#isOverdue || held.barriers.length > 0;
    if (!step.hasChanges && !(isWhole && step.hasBegun)) {
      if (held.effects.length === 0 && held.barriers.length === 0) return;
      this.#held = { effects: [], barriers: [] };
      this.#release(held);
      return;
    }
    const startedAt = this.#options.clock.instant();
    const sinceLast = startedAt - this.#startedAt;
    const pace = this.#options.engine.busyMs - sinceLast;
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
    // A door that was handed effects at the end of this turn may have posted: what came of it is in this batch too.
    for (const effect of step.takeEffects()) effects.push(effect);
    const apart = this.#apartIn(changes);
    const inFlight: InFlight = { effects, barriers, batch, lastTask: step.lastTask, startedAt, apart };
    this.#inFlight = inFlight;
    if (apart.length === 0) this.#send(inFlight, retryMsMin);
    else {
      Promise.all(apart.map(({ task, part, body }) => this.#options.engine.putBody(task, part, body))).then(
        () => this.#send(inFlight, retryMsMin),
        (error: unknown) => this.#fail(`a body could not be stored: ${messageOf(error)}`),
      );
    }
  }

  /** Whether nothing here is waited for: then it goes with the next batch that is, or by itself after a while. */
  #canWait({ effects, barriers }: Held): boolean {
    if (this.#gathering.isUrgent || this.#isOverdue || effects.length > 0 || barriers.length > 0)
      return false;
    if (this.#gathering.hasChanges || this.#gathering.hasBegun) this.#commitLater();
    return true;
  }

  #commitIn(ms: number): void {
    this.#paceTimer ??= this.#options.clock.setTimer(ms, () => {
      this.#paceTimer = undefined;
      // Timers and the clock do not agree to the fraction of a millisecond.
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

  /** Bodies that are too large for a record: they are put before the record that speaks of them. */
  #apartIn(changes: readonly Change[]): ApartBody[] {
    const apart: ApartBody[] = [];
    const add = (task: TaskId, part: BodyPart, body: Body | undefined) => {
      if (body?.bytes !== undefined && body.size > this.#options.engine.inlineBytesMax)
        apart.push({ task, part, body });
    };
    for (const change of changes) {
      if (change.kind === "head") add(change.head.id, "payload", change.head.payload);
      else if (change.kind === "progress") add(change.progress.id, "result", change.progress.result);
    }
    return apart;
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
        if (inFlight.lastTask > 0) this.#committedTask = inFlight.lastTask;
        for (const { task, part } of inFlight.apart) this.#options.onApart(task, part);
        this.#options.onCommitted(this.#options.clock.instant() - inFlight.startedAt, inFlight.batch.changes);
        this.#endTurnWith(inFlight);
        return;
      case "unknown":
      case "unavailable":
        if (retryMs > retryMsMax) this.#fail(`the engine gives no sure answer: ${outcome.message}`);
        else this.#options.clock.setTimer(retryMs, () => this.#send(inFlight, retryMs * 2));
        return;
      case "fenced":
        this.#fail(`another dispatcher has taken the store over: ${outcome.message}`);
        return;
      case "full":
        this.#fail(`the store is full: ${outcome.message}`);
        return;
      default:
        outcome satisfies never;
    }
  }

  #release(held: Held): void {
    if (held.effects.length > 0) this.#options.deliver(held.effects);
    for (const barrier of held.barriers) barrier();
  }

  #fail(message: string): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#options.onFatal(new Error(`A commit failed, so nothing more is accepted: ${message}`));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
