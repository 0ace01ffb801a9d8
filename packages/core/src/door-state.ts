// The core's view of a door: how far its posts were handled, and what is lost when its peers are.

import type { Deadline } from "./deadlines.js";
import type { RequestId, TaskId } from "./names.js";
import type { Step } from "./step.js";
import type { Timed } from "./timed.js";
import type { Offer, Worker } from "./worker.js";

/** A claim: one request for work by a pulling worker, waiting for tasks. */
export interface Claim {
  readonly door: DoorState;
  readonly request: RequestId;
  readonly worker: Worker;
  readonly leaseMs: number;
  /** How many more attempts it takes. */
  left: number;
  /** True when nothing was ready at once. The first task that arrives answers the claim. */
  isWaiting: boolean;
  offer: Offer | undefined;
  deadline: Deadline<Timed> | undefined;
}

/** A request that waits for a task's outcome. */
export interface Watch {
  readonly door: DoorState;
  readonly request: RequestId;
  readonly task: TaskId;
  deadline: Deadline<Timed> | undefined;
}

export class DoorState {
  readonly name: string;
  incarnation = 0;
  /** True if workers of this door cannot resume the attempts they held before a restart. */
  forgets = false;
  /**
   * True if workers of this door are asked after a restart what they hold. A clean stop then leaves
   * their attempts with them.
   */
  resumes = false;
  /** The number of its last handled post. */
  mark = 0;
  /** The step that will record the mark, if it has moved since the last one. */
  step: Step | undefined = undefined;
  readonly workers = new Set<Worker>();
  /** Number of its workers by host. */
  readonly workersByHost = new Map<string, number>();
  /** Number of queues that exist because a peer of this door named them. */
  queuesNamed = 0;
  /** Number of those queues by host. A host that is not known is not counted here. */
  readonly queuesByHost = new Map<string, number>();
  readonly claims = new Map<RequestId, Claim>();
  readonly watches = new Map<RequestId, Watch>();

  constructor(name: string) {
    this.name = name;
  }
}
