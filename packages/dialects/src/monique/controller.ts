// The built-in controllers: the workers on their ports, one PULL connection each, and the task that
// each holds. A worker on PULL has no name: it is known by its connection, and after its first
// answer by the creator in it.

import {
  type AttemptNumber,
  type Effect,
  type LossReason,
  type TaskHead,
  type TaskId,
  type WorkerId,
  workerIdOf,
  type YardEvent,
} from "@yardmaster/core";
import type { Frames } from "./questions.js";

type Assign = Extract<Effect, { type: "assign" }>;
type Revoke = Extract<Effect, { type: "revoke" }>;

export interface ControllerHost<Peer> {
  post(event: YardEvent): void;
  /** False when it cannot be sent: the peer is gone or its queue is full. */
  send(peer: Peer, frames: Frames): boolean;
  /** A task as a question, and the id that its answer will name. */
  questionFor(task: TaskHead): { readonly id: string; readonly frames: Frames };
}

export interface ControllerOptions {
  readonly door: string;
  /** [monique 4.4] Number of tasks that a worker is given before it has answered the first. */
  readonly prefetch: number;
}

/** One connection to a controller's port. */
export class ControllerWorker<Peer> {
  readonly id: WorkerId;
  readonly peer: Peer;
  readonly spec: string;
  readonly address: string;
  /**
   * False when the core does not know it: it was dismissed, or monitoring said that it is not
   * alive.
   */
  isKnown = false;
  creator: string | undefined;
  info: Readonly<Record<string, unknown>> = {};
  readonly holds = new Set<Hold<Peer>>();

  constructor(id: WorkerId, peer: Peer, spec: string, address: string) {
    this.id = id;
    this.peer = peer;
    this.spec = spec;
    this.address = address;
  }
}

/** A task that a worker was given and has not answered. */
export interface Hold<Peer> {
  readonly worker: ControllerWorker<Peer>;
  /** The question's id, which the answer names as its pid. */
  readonly pid: string;
  readonly task: TaskHead;
  readonly attempt: AttemptNumber;
  /** The lease was revoked, but the worker may still answer. */
  isRevoked: boolean;
  /** It was cancelled: the worker's answer only means that it is free. */
  isCancelled: boolean;
  /** Another hold of the same question. */
  next: Hold<Peer> | undefined;
}

/** How long a worker that cannot take a task is offered nothing. */
const refusedHoldMs = 1_000;

export class MoniqueController<Peer> {
  readonly #options: ControllerOptions;
  readonly #host: ControllerHost<Peer>;
  readonly #byPeer = new Map<Peer, ControllerWorker<Peer>>();
  readonly #byId = new Map<WorkerId, ControllerWorker<Peer>>();
  readonly #byCreator = new Map<string, Set<ControllerWorker<Peer>>>();
  readonly #holds = new Map<string, Hold<Peer>>();

  constructor(options: ControllerOptions, host: ControllerHost<Peer>) {
    this.#options = options;
    this.#host = host;
  }

  /** `name` must be unique over all connections, including those before a restart. */
  came(peer: Peer, spec: string, name: string, address: string): void {
    const worker = new ControllerWorker(workerIdOf(this.#options.door, name), peer, spec, address);
    this.#byPeer.set(peer, worker);
    this.#byId.set(worker.id, worker);
    this.#join(worker);
  }

  /** [monique 4.6] The connection is gone. Its tasks go to other workers at once. */
  went(peer: Peer, reason: LossReason): void {
    const worker = this.#byPeer.get(peer);
    if (worker === undefined) return;
    this.#byPeer.delete(peer);
    this.#byId.delete(worker.id);
    this.#leave(worker, reason, "");
    const namesakes = this.#byCreator.get(worker.creator ?? "");
    namesakes?.delete(worker);
    if (namesakes?.size === 0) this.#byCreator.delete(worker.creator ?? "");
  }

  assign({ worker: id, task, attempt }: Assign): void {
    const worker = this.#byId.get(id);
    // The worker left in the meantime. The core knows, and its task is on its way to another.
    if (worker === undefined || !worker.isKnown) return;
    const { id: pid, frames } = this.#host.questionFor(task);
    if (this.#host.send(worker.peer, frames)) {
      this.#hold({ worker, pid, task, attempt, isRevoked: false, isCancelled: false, next: undefined });
      return;
    }
    this.#host.post({
      type: "attempt-returned",
      worker: id,
      task: task.id,
      attempt,
      reason: "undelivered",
      holdMs: refusedHoldMs,
    });
  }

  /** Revokes a lease. Returns the question's id if the worker may still be working on it. */
  revoke({ worker: id, attempt, reason }: Revoke): string | undefined {
    for (const hold of this.#byId.get(id)?.holds ?? []) {
      if (hold.attempt !== attempt) continue;
      hold.isRevoked = true;
      hold.isCancelled = reason === "cancelled";
      return hold.pid;
    }
    return undefined;
  }

  /** The core has no room for this worker. Returns the worker, whose connection is to be closed. */
  dismiss(id: WorkerId): ControllerWorker<Peer> | undefined {
    const worker = this.#byId.get(id);
    if (worker !== undefined) worker.isKnown = false;
    return worker;
  }

  /**
   * [monique 4.7] The worker that is taken to have answered: the one with that creator, else the
   * current holder, else the last holder.
   */
  holdOf(pid: string, creator: string): Hold<Peer> | undefined {
    const first = this.#holds.get(pid);
    if (first?.next === undefined) return first;
    let best: Hold<Peer> = first;
    for (let hold: Hold<Peer> | undefined = first; hold !== undefined; hold = hold.next) {
      if (rankOf(hold, creator) > rankOf(best, creator)) best = hold;
    }
    return best;
  }

  /** The task of this question if any worker holds it. */
  taskOf(pid: string): TaskId | undefined {
    return this.#holds.get(pid)?.task.id;
  }

  /** The worker has answered: it is idle, and known by its creator from now on. */
  answered(hold: Hold<Peer>, creator: string): void {
    this.#release(hold);
    const { worker } = hold;
    if (creator !== "" && worker.creator !== creator) this.#name(worker, creator);
    if (!worker.isKnown && this.#byId.has(worker.id)) this.#join(worker);
  }

  /**
   * [monique 6.2] Applies a monitoring report to the workers of this name. False when there are
   * none.
   */
  monitored(creator: string, isAlive: boolean, info: Readonly<Record<string, unknown>>): boolean {
    const namesakes = this.#byCreator.get(creator);
    if (namesakes === undefined) return false;
    for (const worker of namesakes) {
      worker.info = { creator, ...info };
      // With several workers of one name, the report does not say which one is meant.
      if (!isAlive && namesakes.size === 1) this.#leave(worker, "reported", String(info.message ?? ""));
      else if (isAlive && !worker.isKnown) this.#join(worker);
      if (worker.isKnown) this.#tellInfo(worker);
    }
    return true;
  }

  #name(worker: ControllerWorker<Peer>, creator: string): void {
    this.#byCreator.get(worker.creator ?? "")?.delete(worker);
    worker.creator = creator;
    worker.info = { ...worker.info, creator };
    const namesakes = this.#byCreator.get(creator) ?? new Set();
    this.#byCreator.set(creator, namesakes.add(worker));
    if (worker.isKnown) this.#tellInfo(worker);
  }

  #tellInfo({ id, info }: ControllerWorker<Peer>): void {
    this.#host.post({ type: "worker-beat", worker: id, info });
  }

  #join(worker: ControllerWorker<Peer>): void {
    worker.isKnown = true;
    this.#host.post({
      type: "worker-joined",
      worker: worker.id,
      profile: {
        dialect: "monique",
        address: worker.address,
        queues: [worker.spec],
        slots: this.#options.prefetch,
        runsAtOnce: 1,
        pulls: false,
        givesBack: false,
      },
    });
  }

  #leave(worker: ControllerWorker<Peer>, reason: LossReason, message: string): void {
    for (const hold of [...worker.holds]) this.#release(hold);
    if (!worker.isKnown) return;
    worker.isKnown = false;
    const said = message === "" ? {} : { message };
    this.#host.post({ type: "worker-left", worker: worker.id, reason, ...said });
  }

  #hold(hold: Hold<Peer>): void {
    hold.next = this.#holds.get(hold.pid);
    this.#holds.set(hold.pid, hold);
    hold.worker.holds.add(hold);
  }

  #release(hold: Hold<Peer>): void {
    if (!hold.worker.holds.delete(hold)) return;
    const first = this.#holds.get(hold.pid);
    if (first === hold) {
      if (hold.next === undefined) this.#holds.delete(hold.pid);
      else this.#holds.set(hold.pid, hold.next);
      return;
    }
    for (let before = first; before !== undefined; before = before.next) {
      if (before.next === hold) before.next = hold.next;
    }
  }
}

/** Among equals the first in the chain, the newest, is taken. */
function rankOf<Peer>(hold: Hold<Peer>, creator: string): number {
  return (hold.worker.creator === creator ? 2 : 0) + (hold.isRevoked ? 0 : 1);
}
