// The workers with a stream: the unanswered attempts of each, and what happens to them when a
// stream is cut, reopened or ended.

import {
  type AttemptNumber,
  after,
  type Deadline,
  Deadlines,
  type Effect,
  type Instant,
  type Moment,
  type TaskId,
  type WorkerId,
} from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Clock } from "../clock.js";
import { readPayload } from "./claim-answer.js";
import type { HttpContext } from "./context.js";
import type { Assignment } from "./exchange.js";
import { beatMs, WorkStream } from "./work-stream.js";
import type { StreamOpened } from "./worker-roster.js";

export interface HeldAttempt {
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
}

interface StreamWorker {
  /** Undefined while its stream is cut. */
  stream: WorkStream | undefined;
  /** Attempts that were sent and not answered. */
  readonly sent: Map<AttemptNumber, TaskId>;
  isDrained: boolean;
  mayWork: (() => boolean) | undefined;
}

export type WorkStreamsOptions = Pick<HttpContext, "port" | "exchange" | "roster" | "tokens" | "traces"> &
  Pick<Clock, "defer">;

/** A stream is checked twice within the time it may be quiet. */
const lookMs = beatMs / 2;

export class WorkStreams {
  readonly #options: WorkStreamsOptions;
  readonly #workers = new Map<WorkerId, StreamWorker>();
  readonly #looks = new Deadlines<WorkStream>();
  /** Streams that have something to write at the end of this delivery. */
  readonly #touched = new Set<WorkStream>();

  constructor(options: WorkStreamsOptions) {
    this.#options = options;
  }

  /**
   * `held`: the attempts that the worker still runs. The others that it was sent did not reach it.
   */
  open(opened: StreamOpened, held: readonly HeldAttempt[], reply: FastifyReply): void {
    const { port, roster, tokens, defer } = this.#options;
    const id = roster.openStream(opened);
    const worker = this.#workerOf(id);
    this.#replace(worker);
    worker.mayWork = opened.mayWork;
    reply.hijack();
    const stream = this.#streamOn(reply, opened.queues.length > 1);
    worker.stream = stream;
    reply.raw.once("close", () => this.#closed(id, stream));
    const { slots, leaseMs } = opened;
    stream.open({ worker: id, token: tokens.makeForWorker(opened), slots, leaseMs });
    this.#looks.arm(stream.deadline, after(port.now().instant, lookMs));
    this.#settle(id, worker, held, leaseMs);
    roster.offerSlots(id);
    // After the core's turn, so that waiting tasks arrive together with the first line. A worker
    // that gets only that line knows that there are none.
    defer(() => stream.flush());
    // A connection that closed before this point emits no further event.
    if (reply.raw.destroyed) this.#closed(id, stream);
  }

  #workerOf(id: WorkerId): StreamWorker {
    const known = this.#workers.get(id);
    if (known !== undefined) return known;
    const worker = { stream: undefined, sent: new Map(), isDrained: false, mayWork: undefined };
    this.#workers.set(id, worker);
    return worker;
  }

  /** Ends the streams of workers whose principal lost the right to work. */
  endForbidden(): void {
    for (const { stream, mayWork } of this.#workers.values())
      if (mayWork?.() === false) stream?.end("stopping", "the right to work on this queue was taken away");
  }

  #streamOn(reply: FastifyReply, namesQueue: boolean): WorkStream {
    const { port, exchange, traces } = this.#options;
    return new WorkStream({
      response: reply.raw,
      door: port.door,
      namesQueue,
      traceparentOf: traces && ((task, attempt) => traces.traceparentOf(task, attempt)),
      read: (assignment) => readPayload({ port, exchange }, assignment),
    });
  }

  /** Attempts that the worker holds continue; those it does not know go to other workers. */
  #settle(id: WorkerId, worker: StreamWorker, held: readonly HeldAttempt[], leaseMs: number): void {
    const unknown = new Map(worker.sent);
    for (const one of held) {
      unknown.delete(one.attempt);
      worker.sent.set(one.attempt, one.task);
      this.#options.exchange.askFor(
        (request) => ({ type: "attempt-beat", request, worker: id, ...one, leaseMs }),
        (reply) => {
          if (reply.type === "beat" && !reply.cancel) return;
          worker.stream?.cancel(one.task, one.attempt, reply.type === "beat" ? "cancelled" : "lost");
          worker.stream?.flush();
        },
      );
    }
    for (const [attempt, task] of unknown) this.#giveBack(id, worker, attempt, task);
  }

  #giveBack(id: WorkerId, worker: StreamWorker, attempt: AttemptNumber, task: TaskId): void {
    worker.sent.delete(attempt);
    this.#options.exchange.giveBack({ worker: id, attempt, task: { id: task } });
  }

  #replace(worker: StreamWorker): void {
    const { stream } = worker;
    if (stream === undefined) return;
    worker.stream = undefined;
    stream.takeUnwritten();
    stream.end("replaced", "another stream was opened under this name");
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "assign") this.#assign(effect);
      else if (effect.type === "revoke") this.#revoke(effect);
      else if (effect.type === "drained") this.#drained(effect.worker);
      else if (effect.type === "dismiss")
        this.#workers.get(effect.worker)?.stream?.end("queue_full", effect.message);
    }
    for (const stream of this.#touched) stream.flush();
    this.#touched.clear();
  }

  #assign(assignment: Assignment): void {
    // The answer to a claim does not belong to a stream.
    if (assignment.request !== undefined) return;
    const worker = this.#workers.get(assignment.worker);
    if (worker?.stream === undefined) {
      this.#options.exchange.giveBack(assignment);
      return;
    }
    worker.sent.set(assignment.attempt, assignment.task.id);
    worker.stream.push(assignment);
    this.#touched.add(worker.stream);
  }

  #revoke({ worker: id, task, attempt, reason }: Extract<Effect, { type: "revoke" }>): void {
    const worker = this.#workers.get(id);
    const stream = worker?.stream;
    if (worker === undefined || stream === undefined) return;
    if (!stream.withdraw(attempt)) {
      stream.cancel(task, attempt, reason);
      this.#touched.add(stream);
      return;
    }
    // The worker has read nothing for a whole lease, so further lines would not be read either.
    if (reason === "lease_over") stream.destroy();
    this.#giveBack(id, worker, attempt, task);
  }

  #drained(id: WorkerId): void {
    const worker = this.#workers.get(id);
    if (worker === undefined) return;
    worker.isDrained = true;
    worker.stream?.end("drained", "this worker was drained: it gets no more work");
  }

  /**
   * The worker runs this attempt. After our restart it may say so before it reopens its stream. If
   * the stream is then opened without the attempt, that has to be given back.
   */
  reported({ worker, task, attempt }: HeldAttempt & { readonly worker: WorkerId }): void {
    if (this.#options.roster.isUnopened(worker)) this.#workerOf(worker).sent.set(attempt, task);
  }

  /** The worker has answered for this attempt. */
  answered(id: WorkerId, attempt: AttemptNumber): void {
    this.#workers.get(id)?.sent.delete(attempt);
  }

  /** The worker is no longer known. */
  forget(id: WorkerId): void {
    const worker = this.#workers.get(id);
    this.#workers.delete(id);
    worker?.stream?.end("drained", "this worker has left");
  }

  #closed(id: WorkerId, stream: WorkStream): void {
    this.#looks.disarm(stream.deadline);
    const worker = this.#workers.get(id);
    if (worker?.stream !== stream) return;
    worker.stream = undefined;
    const { port, roster } = this.#options;
    if (worker.isDrained) {
      port.post({ type: "worker-retired", worker: id });
      roster.forget(id);
      return;
    }
    // First take its slots away, otherwise returned tasks would be assigned to it again.
    roster.closeStream(id);
    for (const { attempt, task } of stream.takeUnwritten()) this.#giveBack(id, worker, attempt, task.id);
  }

  /** Unread bytes of the worker that has most of them. */
  get unreadBytes(): number {
    let most = 0;
    for (const { stream } of this.#workers.values()) most = Math.max(most, stream?.unreadBytes ?? 0);
    return most;
  }

  handleTimeout(now: Moment): void {
    for (;;) {
      const due: Deadline<WorkStream> | undefined = this.#looks.takeDue(now.instant);
      if (due === undefined) return;
      due.subject.beatIfQuiet();
      this.#looks.arm(due, after(now.instant, lookMs));
    }
  }

  nextDeadline(): Instant | undefined {
    return this.#looks.next();
  }

  close(): void {
    for (const { stream } of this.#workers.values()) stream?.end("stopping", "the dispatcher is stopping");
  }
}
