// What doors report about workers, and what a worker is when it joins.

import type { LossReason } from "./attempt-events.js";
import type { RequestId, WorkerId } from "./names.js";

export interface WorkerProfile {
  readonly dialect: string;
  /** The worker's address, shown to operators. */
  readonly address: string;
  readonly queues: readonly string[];
  /** Maximum number of attempts that it may hold. Not used for a pulling worker. */
  readonly slots: number;
  /** Number of attempts that it runs at once. The others wait in the worker's own queue. */
  readonly runsAtOnce: number;
  /** True if it takes tasks only by claims (`work-claimed`), and only as many as it claims. */
  readonly pulls: boolean;
  /** True if it can be asked to return tasks that it has not begun. */
  readonly givesBack: boolean;
  /**
   * A full worker may get one more task that is more urgent than all it holds, because a task that
   * it runs may wait for that one. So it holds at most one task per priority beyond its slots.
   */
  readonly acceptsUrgentOverflow?: boolean;
  /**
   * For a worker with slots: each attempt has a lease of this length and is lost if no heartbeat
   * renews it. If absent, an attempt lasts as long as its worker is connected.
   */
  readonly leaseMs?: number;
}

export type WorkerEvent =
  | { readonly type: "worker-joined"; readonly worker: WorkerId; readonly profile: WorkerProfile }
  /**
   * The worker is alive. `queued` is the number of its attempts that it has not begun. `info` is
   * what it reports about itself, for people.
   */
  | {
      readonly type: "worker-beat";
      readonly worker: WorkerId;
      readonly queued?: number;
      readonly info?: Readonly<Record<string, unknown>>;
    }
  /** `message` is what the worker said went wrong, for the stories of the tasks it held. */
  | {
      readonly type: "worker-left";
      readonly worker: WorkerId;
      readonly reason: LossReason;
      readonly message?: string;
    }
  /**
   * The worker left in an orderly way: its tasks come back untried, and it does not count as lost.
   */
  | { readonly type: "worker-retired"; readonly request?: RequestId; readonly worker: WorkerId }
  | {
      readonly type: "work-claimed";
      readonly request: RequestId;
      readonly worker: WorkerId;
      readonly queue: string;
      readonly max: number;
      readonly forMs: number;
      /** Lease of each attempt. It expires unless the worker beats. */
      readonly leaseMs: number;
    };
