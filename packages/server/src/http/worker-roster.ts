// The http workers that were heard of lately. They have no connection that could close, so a worker is there from its
// first word until it has been silent for long; the yard hears of both.

import {
  after,
  Deadline,
  Deadlines,
  type Instant,
  type Moment,
  type WorkerId,
  workerIdOf,
} from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";

/** A worker between two claims of a slow loop is not gone, so silence is counted generously. */
const silenceMsMin = 60_000;

interface Known {
  readonly id: WorkerId;
  /** The longest lease it asked for: it may rightly be silent as long as that lasts. */
  leaseMs: number;
  address: string;
}

export interface Word {
  readonly name: string;
  /** Where it called from. */
  readonly address: string;
  readonly leaseMs: number;
  /** How long it will wait for the answer, and need say nothing. */
  readonly waitMs?: number;
}

export class WorkerRoster {
  readonly #port: Port;
  readonly #known = new Map<WorkerId, Deadline<Known>>();
  readonly #silences = new Deadlines<Known>();

  constructor(port: Port) {
    this.#port = port;
  }

  /** A worker said something. One that is new, or calls from elsewhere, joins. */
  heard({ name, address, leaseMs, waitMs = 0 }: Word): WorkerId {
    const id = workerIdOf(this.#port.door, name);
    const deadline = this.#known.get(id) ?? this.#add(id);
    const known = deadline.subject;
    known.leaseMs = Math.max(known.leaseMs, leaseMs);
    if (known.address !== address) {
      known.address = address;
      this.#join(known);
    }
    const silenceMs = waitMs + Math.max(silenceMsMin, 2 * known.leaseMs);
    this.#silences.arm(deadline, after(this.#port.now().instant, silenceMs));
    return id;
  }

  #add(id: WorkerId): Deadline<Known> {
    const deadline = new Deadline<Known>({ id, leaseMs: 0, address: "" });
    this.#known.set(id, deadline);
    return deadline;
  }

  #join({ id, address }: Known): void {
    this.#port.post({
      type: "worker-joined",
      worker: id,
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
    const deadline = this.#known.get(id);
    if (!deadline) return;
    this.#known.delete(id);
    this.#silences.disarm(deadline);
  }

  handleTimeout({ instant }: Moment): void {
    for (;;) {
      const due = this.#silences.takeDue(instant);
      if (!due) return;
      this.#known.delete(due.subject.id);
      this.#port.post({ type: "worker-left", worker: due.subject.id, reason: "silence" });
    }
  }

  nextDeadline(): Instant | undefined {
    return this.#silences.next();
  }
}
