// The workers of a door, by connection and by id, and which of them have been silent for too long.

import type { Effect, Instant, Moment, WorkerId, YardEvent } from "@yardmaster/core";
import { type Peer as KnownPeer, type PeerSilence, Peers } from "../peers.js";
import { PingpongDoorWorker, type WorkerFault } from "./door-worker.js";
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

export interface DoorWorkersHost<Peer> {
  now(): Moment;
  post(event: YardEvent): void;
  /** False when it cannot be sent: the peer is gone or its queue is full. */
  send(peer: Peer, message: BrokerMessage): boolean;
  disconnect(peer: Peer): void;
  fault(kind: string, address: string, advice?: string): void;
}

export interface DoorWorkersOptions {
  readonly queue: string;
  readonly form: PingpongForm;
  readonly workersMax: number;
  readonly expireMs: number;
}

type Known = KnownPeer<PingpongDoorWorker>;

/** Advice for faults that may come from a setting of this door, appended to the log line. */
const adviceOn: Readonly<Record<WorkerFault, string | undefined>> = {
  unexpected_result: undefined,
  other_form:
    "The worker answered without naming its job, as in document form; this door has doors.pingpong.form: program.",
  pings_at_work:
    "The worker pings although it has a job. If it expects the program form, it has ignored the job: set doors.pingpong.form: program.",
};

export class PingpongDoorWorkers<Peer extends { readonly address: string }> {
  readonly #options: DoorWorkersOptions;
  readonly #host: DoorWorkersHost<Peer>;
  readonly #known: Peers<PingpongDoorWorker>;
  readonly #byConnection = new Map<Peer, Known>();

  constructor(options: DoorWorkersOptions, host: DoorWorkersHost<Peer>) {
    this.#options = options;
    this.#host = host;
    this.#known = new Peers(options.workersMax);
  }

  /** `life` differs between any two runs of the dispatcher. */
  came(peer: Peer, id: WorkerId, life: string): void {
    const { queue, form } = this.#options;
    const { address } = peer;
    const session = new PingpongDoorWorker(
      { id, address, queue, form, life },
      {
        post: (event) => this.#host.post(event),
        fault: (kind) => this.#host.fault(kind, address, adviceOn[kind]),
        disconnect: () => this.#host.disconnect(peer),
        send: (message) => this.#host.send(peer, message),
      },
    );
    const worker = this.#known.add(id, session);
    if (worker !== undefined) this.#byConnection.set(peer, worker);
    else this.#host.fault("too_many_workers", address);
  }

  went(peer: Peer, wasSilent: boolean): void {
    const worker = this.#byConnection.get(peer);
    if (worker === undefined) return;
    this.#byConnection.delete(peer);
    this.#known.remove(worker);
    worker.session.leave(wasSilent ? "silence" : "connection_closed");
  }

  has(peer: Peer): boolean {
    return this.#byConnection.has(peer);
  }

  receive(peer: Peer, message: WorkerMessage): void {
    const worker = this.#byConnection.get(peer);
    if (worker === undefined) return;
    worker.session.receive(message);
    this.#watch(worker);
  }

  assign(effect: Extract<Effect, { type: "assign" }>): void {
    const worker = this.#known.get(effect.worker);
    // A worker that left was already reported, and its task goes to another one.
    if (worker === undefined) return;
    worker.session.assign(effect);
    this.#watch(worker);
  }

  dismiss({ worker: id, message }: Extract<Effect, { type: "dismiss" }>): void {
    const worker = this.#known.get(id);
    if (worker === undefined) return;
    worker.session.dismiss();
    this.#watch(worker);
    this.#host.fault("too_many_workers", worker.session.address, message);
  }

  silenceOf(worker: WorkerId, now: Moment): PeerSilence | undefined {
    return this.#known.silenceOf(worker, now);
  }

  nextDeadline(): Instant | undefined {
    return this.#known.nextDeadline();
  }

  handleTimeout(now: Moment): void {
    for (let one = this.#known.takeSilent(now); one !== undefined; one = this.#known.takeSilent(now))
      one.session.leave("silence");
  }

  #watch(worker: Known): void {
    if (worker.session.mayExpire) this.#known.heard(worker, this.#host.now(), this.#options.expireMs);
    else this.#known.excuse(worker);
  }
}
