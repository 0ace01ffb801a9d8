// The http workers that were heard of lately. They have no connection that could close, so a worker is there from its
// first word until it has been silent for long; the yard hears of both.

import { type Instant, type Moment, type WorkerId, workerIdOf } from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";
import { Peers } from "../door-kit/peers.js";
import { Problem } from "./problems.js";

/** A worker between two claims of a slow loop is not gone, so silence is counted generously. */
const silenceMsMin = 60_000;

interface Known {
  address: string;
  /** Until then it may rightly be silent, because it was given work: twice the lease. */
  busyUntil: Instant;
}

export interface Word {
  readonly name: string;
  /** Where it called from. */
  readonly address: string;
  /** Of the work that it has; absent while it has none, so that a name which holds nothing is soon forgotten. */
  readonly leaseMs?: number;
  /** How long it will wait for the answer, and need say nothing. */
  readonly waitMs?: number;
}

export class WorkerRoster {
  readonly #port: Port;
  readonly #peers: Peers<Known>;

  constructor(port: Port, workersMax: number) {
    this.#port = port;
    this.#peers = new Peers(workersMax);
  }

  /** A worker said something. One that is new, or calls from elsewhere, joins. */
  heard({ name, address, leaseMs = 0, waitMs = 0 }: Word): WorkerId {
    const id = workerIdOf(this.#port.door, name);
    const peer = this.#peers.get(id) ?? this.#peers.add(id, { address: "", busyUntil: 0 as Instant });
    if (!peer) throw new Problem("queue_full", "there are too many workers");
    const known = peer.session;
    const now = this.#port.now();
    known.busyUntil = Math.max(known.busyUntil, now.instant + 2 * leaseMs) as Instant;
    if (known.address !== address) {
      known.address = address;
      this.#join(id, address);
    }
    this.#peers.heard(peer, now, Math.max(waitMs + silenceMsMin, known.busyUntil - now.instant));
    return id;
  }

  #join(worker: WorkerId, address: string): void {
    this.#port.post({
      type: "worker-joined",
      worker,
      profile: {
        dialect: "http",
        address,
        queues: [],
        slots: 0,
        runsAtOnce: 1,
        pulls: true,
        givesBack: false,
      },
    });
  }

  /** The yard did not take it in; the next word makes it join again. */
  forget(id: WorkerId): void {
    const peer = this.#peers.get(id);
    if (peer) this.#peers.remove(peer);
  }

  handleTimeout(now: Moment): void {
    for (;;) {
      const peer = this.#peers.takeSilent(now);
      if (!peer) return;
      this.#peers.remove(peer);
      this.#port.post({ type: "worker-left", worker: peer.name as WorkerId, reason: "silence" });
    }
  }

  nextDeadline(): Instant | undefined {
    return this.#peers.nextDeadline();
  }
}
