// The controller without its sockets: who is registered, under which id and in which numbering, what each pulse is answered,
// and who has been silent for too long.

import {
  type Answer,
  after,
  Deadline,
  Deadlines,
  type Effect,
  type Instant,
  type Moment,
  type WorkerId,
  workerIdOf,
  type YardEvent,
} from "@yardmaster/core";
import { type ControlRequest, PulseDoorWorker } from "./door-session.js";
import type { Numbering, PulseResponse, WorkerPulse } from "./messages.js";
import { numberingOfPulse } from "./numbering.js";

export interface ControllerOptions {
  /** The door's name, which is the first part of its workers'. */
  readonly door: string;
  readonly queue: string;
  readonly numbering: Numbering | "auto";
  readonly workersMax: number;
  /** Where the worker of this id listens. */
  readonly addressOf: (id: bigint) => string;
}

export interface ControllerHost {
  post(event: YardEvent): void;
  control(worker: PulseDoorWorker, request: ControlRequest): void;
  fault(kind: string, worker: string, detail?: string): void;
  /** It is dead: what is still being asked of it, RESTART aside, is of no use. */
  gone(worker: PulseDoorWorker): void;
}

type Living = Deadline<PulseDoorWorker>;

/** [pulse 3.8] What real workers announce. */
const defaultNextPulseSeconds = 60n;
/** A worker that means to be silent for longer is asked about sooner; and a timer's sum stays exact. */
const nextPulseSecondsMax = 7n * 24n * 3600n;
/** A pulse that was sent in time has a way to go: through two schedulers and a socket. */
const pulseSlackMs = 250;
/** Ids that only tell the dead of one numbering from those of the other. */
const retiredMax = 100_000;

export class PulseController {
  readonly #options: ControllerOptions;
  readonly #host: ControllerHost;
  readonly #living = new Map<bigint, Living>();
  readonly #byName = new Map<WorkerId, PulseDoorWorker>();
  readonly #silence = new Deadlines<PulseDoorWorker>();
  /** [pulse 2.2] Workers that were registered in main numbering, so that they are told in it that they are dead. */
  readonly #retired = new Set<bigint>();
  readonly #claims = new Map<number, PulseDoorWorker>();
  #lastId = 0n;
  #lastGivenOut = 0n;
  #lastRequest = 0;

  constructor(options: ControllerOptions, host: ControllerHost) {
    this.#options = options;
    this.#host = host;
  }

  get size(): number {
    return this.#living.size;
  }

  /** [pulse 2.5] Ids up to this one belong to somebody else. */
  reserveIds(through: bigint): void {
    if (through > this.#lastId) this.#lastId = through;
  }

  /** [pulse 2.2] */
  readonly numberingOf = (type: number, workerId: bigint): Numbering => {
    const { numbering } = this.#options;
    if (numbering !== "auto") return numbering;
    return numberingOfPulse(type, workerId, (id) => this.#registeredIn(id));
  };

  #registeredIn(id: bigint): Numbering | undefined {
    return this.#living.get(id)?.subject.numbering ?? (this.#retired.has(id) ? "main" : undefined);
  }

  /** What a pulse is answered, at once: nothing that is asked of a worker meanwhile holds it up. */
  receive(pulse: WorkerPulse & { readonly numbering: Numbering }, now: Moment): PulseResponse {
    if (typeof pulse.type === "number") {
      // [pulse 3.6]
      this.#host.fault("unknown_type", String(pulse.workerId));
      return { error: "UNKNOWN_TYPE" };
    }
    if (pulse.type === "REGISTER") return this.#register(pulse, now);
    const living = this.#living.get(pulse.workerId);
    // [pulse 3.5]
    if (living === undefined) return { error: "UNKNOWN_ID" };
    this.#heard(living, pulse.nextPulse, now);
    living.subject.receive(pulse);
    return { error: "OK" };
  }

  /** [pulse 4.7] A worker of an earlier life of ours that may still be there. */
  adopt(id: bigint, numbering: Numbering, now: Moment): void {
    if (this.#living.size >= this.#options.workersMax || this.#living.has(id)) return;
    this.reserveIds(id);
    this.#add(id, numbering, 0n, now).adopt();
  }

  /** Carries out an effect that is addressed to one of its workers. */
  deliver(effect: Effect): void {
    switch (effect.type) {
      case "assign": {
        const given = BigInt(effect.task.id);
        if (given > this.#lastGivenOut) this.#lastGivenOut = given;
        this.#byName.get(effect.worker)?.assign(effect);
        return;
      }
      case "revoke":
        this.#byName.get(effect.worker)?.revoke(effect.attempt);
        return;
      case "dismiss":
        this.#host.fault("too_many_workers", effect.worker, effect.message);
        this.#byName.get(effect.worker)?.dismiss();
        return;
      case "reply":
        this.#replied(effect.request, effect.answer);
        return;
      default:
    }
  }

  #replied(request: number, answer: Answer): void {
    const worker = this.#claims.get(request);
    this.#claims.delete(request);
    worker?.claimed(request, answer.type === "beat" && !answer.cancel);
  }

  nextDeadline(): Instant | undefined {
    return this.#silence.next();
  }

  /** [pulse 3.8] */
  handleTimeout(now: Moment): void {
    for (
      let due = this.#silence.takeDue(now.instant);
      due !== undefined;
      due = this.#silence.takeDue(now.instant)
    ) {
      due.subject.leave("silence");
    }
  }

  /** [pulse 3.1] Whatever worker_id and task_id say. */
  #register({ numbering, nextPulse }: WorkerPulse & { numbering: Numbering }, now: Moment): PulseResponse {
    if (this.#living.size >= this.#options.workersMax) {
      this.#host.fault("too_many_workers", "new");
      return { error: "FAILED" };
    }
    this.#lastId += 1n;
    const id = this.#lastId;
    this.#add(id, numbering, nextPulse, now).join();
    return { error: "OK", workerId: id };
  }

  #add(id: bigint, numbering: Numbering, nextPulse: bigint, now: Moment): PulseDoorWorker {
    const name = workerIdOf(this.#options.door, String(id));
    const { queue, addressOf } = this.#options;
    const worker: PulseDoorWorker = new PulseDoorWorker(
      { id, name, address: addressOf(id), queue, numbering },
      {
        post: (event) => this.#host.post(event),
        control: (request) => this.#host.control(worker, request),
        nextRequest: () => this.#request(worker),
        wasGivenOut: (task) => task <= this.#lastGivenOut,
        fault: (kind) => this.#host.fault(kind, name),
        gone: () => this.#remove(worker),
      },
    );
    const living = new Deadline(worker);
    this.#living.set(id, living);
    this.#byName.set(name, worker);
    this.#heard(living, nextPulse, now);
    return worker;
  }

  #request(worker: PulseDoorWorker): number {
    this.#lastRequest += 1;
    this.#claims.set(this.#lastRequest, worker);
    return this.#lastRequest;
  }

  #remove(worker: PulseDoorWorker): void {
    const living = this.#living.get(worker.id);
    if (living === undefined) return;
    this.#silence.disarm(living);
    this.#living.delete(worker.id);
    this.#byName.delete(worker.name);
    this.#host.gone(worker);
    if (worker.numbering !== "main") return;
    this.#retired.add(worker.id);
    const [oldest] = this.#retired;
    if (this.#retired.size > retiredMax && oldest !== undefined) this.#retired.delete(oldest);
  }

  /** [pulse 3.8] A next_pulse of 0 is no wish to die at once. */
  #heard(living: Living, nextPulse: bigint, now: Moment): void {
    const asked = nextPulse === 0n ? defaultNextPulseSeconds : nextPulse;
    const seconds = Number(asked < nextPulseSecondsMax ? asked : nextPulseSecondsMax);
    this.#silence.arm(living, after(now.instant, seconds * 1000 + pulseSlackMs));
  }
}
