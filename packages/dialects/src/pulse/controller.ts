// The controller without its sockets: registered workers with their ids and numbering, the answer
// to each pulse, and workers that have been silent for too long.

import {
  after,
  Deadline,
  Deadlines,
  type Effect,
  type Instant,
  type Moment,
  type RequestAnswer,
  type WorkerId,
  workerIdOf,
  type YardEvent,
} from "@yardmaster/core";
import { PulseDoorWorker } from "./door-worker.js";
import type { ControlRequest } from "./door-worker-host.js";
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
  /** The door's name, which begins the names of its workers. */
  readonly door: string;
  readonly queue: string;
  readonly numbering: Numbering | "auto";
  readonly workersMax: number;
  /** The socket address of the worker with this id. */
  readonly addressOf: (id: bigint) => string;
}

export interface ControllerHost {
  post(event: YardEvent): void;
  control(worker: PulseDoorWorker, request: ControlRequest): void;
  fault(kind: string, worker: string, detail?: string): void;
  /** The worker is dead: open requests to it, except RESTART, are useless. */
  gone(worker: PulseDoorWorker): void;
}

/** [pulse 3.8] The value that real workers announce. */
const defaultNextPulseSeconds = 60n;
/** A worker that announces more is asked about sooner, and timer arithmetic stays exact. */
const nextPulseSecondsMax = 7n * 24n * 3600n;
/** Allowance for a pulse that was sent in time and is still on its way. */
const pulseSlackMs = 250;
/** Maximum number of ids kept only to know the numbering of dead workers. */
const retiredMax = 100_000;
/** Number of ids reserved at a time. */
const idBlock = 1000n;

/** A living worker and what is recorded of it. */
interface Living extends Deadline<PulseDoorWorker> {
  nextPulse: bigint;
}

export class PulseController {
  readonly #options: ControllerOptions;
  readonly #host: ControllerHost;
  readonly #living = new Map<bigint, Living>();
  readonly #byName = new Map<WorkerId, PulseDoorWorker>();
  readonly #silence = new Deadlines<PulseDoorWorker>();
  /**
   * [pulse 2.2] Workers that registered in main numbering, so that they are told in it that they
   * are dead.
   */
  readonly #retired = new Set<bigint>();
  /** Callbacks for the core's answers, by request. */
  readonly #requests = new Map<number, (answer: RequestAnswer) => void>();
  #lastId = 0n;
  #lastGivenOut = 0n;
  /** Ids up to these may be used without another commit. */
  #reserved = { workers: 0n, tasks: 0n };
  #lastRequest = 0;

  constructor(options: ControllerOptions, host: ControllerHost) {
    this.#options = options;
    this.#host = host;
  }

  get size(): number {
    return this.#living.size;
  }

  /** [pulse 2.5] Ids up to this one belong to other workers. */
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
   * Answers a pulse at once, regardless of open requests to the worker. Only a REGISTER is answered
   * later, when the registration is committed.
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

  /** [pulse 4.7] Restores the workers recorded before a restart, which may still be alive. */
  remember(memos: ReadonlyMap<string, Uint8Array>, now: Moment): void {
    const { counters, registrations } = readMemos(memos);
    this.reserveIds(counters.workers);
    this.#reserved = { ...counters };
    this.#lastGivenOut = counters.tasks;
    for (const registration of registrations) this.adopt(registration, now);
  }

  /** [pulse 4.7] Adopts a worker from before a restart that may still be alive. */
  adopt({ id, numbering, nextPulse }: Registration, now: Moment): void {
    if (this.#living.size >= this.#options.workersMax || this.#living.has(id)) return;
    this.reserveIds(id);
    this.#add({ id, numbering, nextPulse }, now).adopt();
  }

  /** Carries out an effect addressed to one of its workers. */
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
    // Early, because an assignment leaves before this reservation is committed.
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

  /** [pulse 3.1] Regardless of worker_id and task_id. */
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

  /** [pulse 3.8] How long it may be silent by its own word, and until when. */
  silenceOf(name: WorkerId): { readonly limitMs: number; readonly silentAt: Instant } | undefined {
    const worker = this.#byName.get(name);
    const living = worker === undefined ? undefined : this.#living.get(worker.id);
    if (living === undefined || !living.isArmed) return undefined;
    return { limitMs: silenceMsOf(living.nextPulse), silentAt: living.at };
  }

  #request(then: (answer: RequestAnswer) => void): number {
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

  /** [pulse 3.8] A next_pulse of 0 does not mean that the worker wants to expire at once. */
  #heard(living: Living, nextPulse: bigint, now: Moment): void {
    this.#silence.arm(living, after(now.instant, silenceMsOf(nextPulse)));
    if (nextPulse === living.nextPulse) return;
    living.nextPulse = nextPulse;
    this.#write({ id: living.subject.id, numbering: living.subject.numbering, nextPulse });
  }
}

function silenceMsOf(nextPulse: bigint): number {
  const asked = nextPulse === 0n ? defaultNextPulseSeconds : nextPulse;
  return Number(asked < nextPulseSecondsMax ? asked : nextPulseSecondsMax) * 1000 + pulseSlackMs;
}
