// The http workers that were heard from recently. A claiming worker has no lasting connection: it
// is known from its first request until a long silence. A worker with a stream is known until its
// stream has been closed for a moment.

import { type Instant, type Moment, type WorkerId, workerIdOf } from "@yardmaster/core";
import { Peers } from "@yardmaster/dialects";
import type { Port } from "../door-kit/door.js";
import type { Silence } from "../watching/alerts.js";
import { Problem } from "./problems.js";

/** A worker between two claims of a slow loop is not gone, so the limit is generous. */
const silenceMsMin = 60_000;

/** A worker whose stream was cut reopens it at once. One that does not is dead. */
export const reopenMs = 2_000;

/** The queue, slots and lease of a worker with a stream. */
interface StreamProfile {
  readonly queues: readonly string[];
  readonly slots: number;
  readonly leaseMs: number;
  readonly state: "unopened" | "open" | "closed";
}

interface Known {
  address: string;
  /** Until then it may be silent because it has work: twice the lease. */
  busyUntil: Instant;
  /** Undefined for a claiming worker. */
  stream: StreamProfile | undefined;
}

/** What a request shows about the worker that sent it. */
export interface WorkerSighting {
  readonly name: string;
  /** The worker's address. */
  readonly address: string;
  /**
   * The lease of its work. Absent while it has none, so that a name without work is soon forgotten.
   */
  readonly leaseMs?: number;
  /** How long it waits for the answer and may be silent. */
  readonly waitMs?: number;
  /** True if it works over a stream, or did before a restart. */
  readonly isStream?: boolean;
  /** The queues of that stream. */
  readonly queues?: readonly string[];
}

export interface StreamOpened {
  readonly name: string;
  readonly address: string;
  readonly queues: readonly string[];
  readonly slots: number;
  readonly leaseMs: number;
  /** False once its principal may no longer work on all these queues. */
  readonly mayWork?: () => boolean;
}

export class WorkerRoster {
  readonly #port: Port;
  readonly #peers: Peers<Known>;
  readonly #onGone: (worker: WorkerId) => void;

  /** `onGone` is called when a worker is forgotten. */
  constructor(port: Port, workersMax: number, onGone: (worker: WorkerId) => void = () => {}) {
    this.#port = port;
    this.#peers = new Peers(workersMax);
    this.#onGone = onGone;
  }

  /** Records a request of a worker. A new worker, or one with a new address, joins. */
  heard({ name, address, leaseMs = 0, waitMs = 0, isStream = false, queues = [] }: WorkerSighting): WorkerId {
    const id = workerIdOf(this.#port.door, name);
    // A worker with a stream that reports before it has reopened its stream: it gets nothing new
    // yet.
    const unopened = { queues, slots: 0, leaseMs, state: "unopened" } as const;
    const peer = this.#peers.get(id) ?? this.#add(id, isStream ? unopened : undefined);
    const known = peer.session;
    if (known.stream !== undefined && known.stream.state !== "unopened") return id;
    const now = this.#port.now();
    known.busyUntil = Math.max(known.busyUntil, now.instant + 2 * leaseMs) as Instant;
    if (known.address !== address) {
      known.address = address;
      this.#join(id, known);
    }
    // A worker that lives reopens its stream, however long its lease is.
    const busyMs = known.stream === undefined ? known.busyUntil - now.instant : 0;
    this.#peers.heard(peer, now, Math.max(waitMs + silenceMsMin, busyMs));
    return id;
  }

  /** True if the worker with this name has a stream, or had one a moment ago. */
  hasStream(name: string): boolean {
    return this.#peers.get(workerIdOf(this.#port.door, name))?.session.stream !== undefined;
  }

  /** True if it had a stream before our restart and has not reopened it. */
  isUnopened(id: WorkerId): boolean {
    return this.#peers.get(id)?.session.stream?.state === "unopened";
  }

  /** The worker joins without slots: the attempts that it holds are settled before it gets more. */
  openStream({ name, address, queues, slots, leaseMs }: StreamOpened): WorkerId {
    const id = workerIdOf(this.#port.door, name);
    let peer = this.#peers.get(id);
    if (peer !== undefined && peer.session.stream === undefined) {
      this.#port.post({ type: "worker-retired", worker: id });
      this.#peers.remove(peer);
      peer = undefined;
    }
    peer ??= this.#add(id, undefined);
    peer.session.stream = { queues, slots, leaseMs, state: "open" };
    peer.session.address = address;
    this.#peers.excuse(peer);
    this.#join(id, peer.session, 0);
    return id;
  }

  offerSlots(id: WorkerId): void {
    const known = this.#peers.get(id)?.session;
    if (known?.stream?.state === "open") this.#join(id, known);
  }

  /** The worker gets nothing more, and is lost unless it comes back soon. */
  closeStream(id: WorkerId): void {
    const peer = this.#peers.get(id);
    if (peer?.session.stream === undefined) return;
    peer.session.stream = { ...peer.session.stream, slots: 0, state: "closed" };
    this.#join(id, peer.session);
    this.#peers.heard(peer, this.#port.now(), reopenMs);
  }

  #add(id: WorkerId, stream: StreamProfile | undefined) {
    const peer = this.#peers.add(id, { address: "", busyUntil: 0 as Instant, stream });
    if (!peer) throw new Problem("queue_full", "there are too many workers");
    return peer;
  }

  #join(worker: WorkerId, { address, stream }: Known, slots = stream?.slots ?? 0): void {
    this.#port.post({
      type: "worker-joined",
      worker,
      profile: {
        dialect: "http",
        address,
        queues: stream?.queues ?? [],
        slots,
        runsAtOnce: Math.max(1, stream?.slots ?? 1),
        pulls: stream === undefined,
        givesBack: false,
        ...(stream && { leaseMs: stream.leaseMs }),
      },
    });
  }

  /** The yard had no room for it. Its next request makes it join again. */
  forget(id: WorkerId): void {
    const peer = this.#peers.get(id);
    if (peer) this.#peers.remove(peer);
    this.#onGone(id);
  }

  silenceOf(id: WorkerId, now: Moment): Silence | undefined {
    return this.#peers.silenceOf(id, now);
  }

  handleTimeout(now: Moment): void {
    for (;;) {
      const peer = this.#peers.takeSilent(now);
      if (!peer) return;
      this.#peers.remove(peer);
      const reason = peer.session.stream?.state === "closed" ? "connection_closed" : "silence";
      this.#port.post({ type: "worker-left", worker: peer.name as WorkerId, reason });
      this.#onGone(peer.name as WorkerId);
    }
  }

  nextDeadline(): Instant | undefined {
    return this.#peers.nextDeadline();
  }
}
