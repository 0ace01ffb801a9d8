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
import { PulseDoorWorker } from "./door-session.js";
import type { ControlRequest } from "./door-surroundings.js";
import {
  countersMemo,
  type Registration,
  readMemos,
  registrationMemo,
  writeCounters,
  writeRegistration,
} from "./memos.js";
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

/** [pulse 3.8] What real workers announce. */
const defaultNextPulseSeconds = 60n;
/** A worker that means to be silent for longer is asked about sooner; and a timer's sum stays exact. */
const nextPulseSecondsMax = 7n * 24n * 3600n;
/** A pulse that was sent in time has a way to go: through two schedulers and a socket. */
const pulseSlackMs = 250;
/** Ids that only tell the dead of one numbering from those of the other. */
const retiredMax = 100_000;
/** How many ids are reserved at a time. */
const idBlock = 1000n;

/** A worker among the living, and what of it is written down. */
interface Living extends Deadline<PulseDoorWorker> {
  nextPulse: bigint;
}

export class PulseController {
  readonly #options: ControllerOptions;
  readonly #host: ControllerHost;
  readonly #living = new Map<bigint, Living>();
  readonly #byName = new Map<WorkerId, PulseDoorWorker>();
  readonly #silence = new Deadlines<PulseDoorWorker>();
  /** [pulse 2.2] Workers that were registered in main numbering, so that they are told in it that they are dead. */
  readonly #retired = new Set<bigint>();
  /** Who waits for the core's answer to which of our requests. */
  readonly #requests = new Map<number, (answer: Answer) => void>();
  #lastId = 0n;
  #lastGivenOut = 0n;
  /** Ids that may be used without another word to the disk. */
  #reserved = { workers: 0n, tasks: 0n };
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
  readonly numberingOf = (type: number, workerId: bigint, taskId = 0n): Numbering => {
    const { numbering } = this.#options;
    if (numbering !== "auto") return numbering;
    return numberingOfPulse({ type, workerId, taskId }, (id) => this.#registeredIn(id));
  };

  #registeredIn(id: bigint): Numbering | undefined {
    return this.#living.get(id)?.subject.numbering ?? (this.#retired.has(id) ? "main" : undefined);
  }

  /**
   * What a pulse is answered, at once: nothing that is asked of a worker meanwhile holds it up. Only a REGISTER is
   * answered later, when it is safe that the worker is known.
   */
  receive(
    pulse: WorkerPulse & { readonly numbering: Numbering },
    now: Moment,
    respond: (response: PulseResponse) => void,
  ): void {
    if (pulse.type === "REGISTER") this.#register(pulse, now, respond);
    else respond(this.#responseTo(pulse, now));
  }

  #responseTo(pulse: WorkerPulse, now: Moment): PulseResponse {
    if (typeof pulse.type === "number") {
      // [pulse 3.6]
      this.#host.fault("unknown_type", String(pulse.workerId));
      return { error: "UNKNOWN_TYPE" };
    }
    const living = this.#living.get(pulse.workerId);
    // [pulse 3.5]
    if (living === undefined) return { error: "UNKNOWN_ID" };
    this.#heard(living, pulse.nextPulse, now);
    living.subject.receive(pulse);
    return { error: "OK" };
  }

  /** [pulse 4.7] What an earlier life of ours wrote down: its workers may still be there. */
  remember(memos: ReadonlyMap<string, Uint8Array>, now: Moment): void {
    const { counters, registrations } = readMemos(memos);
    this.reserveIds(counters.workers);
    this.#reserved = { ...counters };
    this.#lastGivenOut = counters.tasks;
    for (const registration of registrations) this.adopt(registration, now);
  }

  /** [pulse 4.7] A worker of an earlier life of ours that may still be there. */
  adopt({ id, numbering, nextPulse }: Registration, now: Moment): void {
    if (this.#living.size >= this.#options.workersMax || this.#living.has(id)) return;
    this.reserveIds(id);
    this.#add({ id, numbering, nextPulse }, now).adopt();
  }

  /** Carries out an effect that is addressed to one of its workers. */
  deliver(effect: Effect): void {
    switch (effect.type) {
      case "assign": {
        this.#noteGivenOut(BigInt(effect.task.id));
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
        this.#requests.get(effect.request)?.(effect.answer);
        this.#requests.delete(effect.request);
        return;
      default:
    }
  }

  #noteGivenOut(task: bigint): void {
    if (task <= this.#lastGivenOut) return;
    this.#lastGivenOut = task;
    // Early, since an assignment leaves before what is written here is safe.
    if (task + idBlock / 2n > this.#reserved.tasks) this.#reserve({ tasks: task + idBlock });
  }

  #reserve(through: { readonly workers?: bigint; readonly tasks?: bigint }): void {
    this.#reserved = { ...this.#reserved, ...through };
    this.#host.post({ type: "memo-written", name: countersMemo, bytes: writeCounters(this.#reserved) });
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
  #register(
    { numbering, nextPulse }: WorkerPulse & { numbering: Numbering },
    now: Moment,
    respond: (response: PulseResponse) => void,
  ): void {
    if (this.#living.size >= this.#options.workersMax) {
      this.#host.fault("too_many_workers", "new");
      respond({ error: "FAILED" });
      return;
    }
    this.#lastId += 1n;
    const id = this.#lastId;
    if (id > this.#reserved.workers) this.#reserve({ workers: id + idBlock });
    const worker = this.#add({ id, numbering, nextPulse }, now);
    if (this.#options.numbering === "auto" && numbering === "main") worker.expect();
    else worker.join();
    const request = this.#request(() => respond({ error: "OK", workerId: id }));
    this.#write({ id, numbering, nextPulse }, request);
  }

  #write(registration: Registration, request?: number): void {
    this.#host.post({
      type: "memo-written",
      ...(request === undefined ? {} : { request }),
      name: registrationMemo(registration.id),
      bytes: writeRegistration(registration),
    });
  }

  #add({ id, numbering, nextPulse }: Registration, now: Moment): PulseDoorWorker {
    const name = workerIdOf(this.#options.door, String(id));
    const { queue, addressOf } = this.#options;
    const worker: PulseDoorWorker = new PulseDoorWorker(
      { id, name, address: addressOf(id), queue, numbering },
      {
        post: (event) => this.#host.post(event),
        control: (request) => this.#host.control(worker, request),
        ask: (then) => this.#request(then),
        wasGivenOut: (task) => task <= this.#lastGivenOut,
        fault: (kind) => this.#host.fault(kind, name),
        gone: () => this.#remove(worker),
      },
    );
    const living = Object.assign(new Deadline(worker), { nextPulse });
    this.#living.set(id, living);
    this.#byName.set(name, worker);
    this.#heard(living, nextPulse, now);
    return worker;
  }

  #request(then: (answer: Answer) => void): number {
    this.#lastRequest += 1;
    this.#requests.set(this.#lastRequest, then);
    return this.#lastRequest;
  }

  #remove(worker: PulseDoorWorker): void {
    const living = this.#living.get(worker.id);
    if (living === undefined) return;
    this.#silence.disarm(living);
    this.#living.delete(worker.id);
    this.#byName.delete(worker.name);
    this.#host.post({ type: "memo-dropped", name: registrationMemo(worker.id) });
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
    if (nextPulse === living.nextPulse) return;
    living.nextPulse = nextPulse;
    this.#write({ id: living.subject.id, numbering: living.subject.numbering, nextPulse });
  }
}
