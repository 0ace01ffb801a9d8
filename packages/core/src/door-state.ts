// What the core keeps of a door: how far its posts were taken in, and what is lost if its peers are.

import type { Deadline } from "./deadlines.js";
import type { RequestId, TaskId } from "./names.js";
import type { Step } from "./step.js";
import type { Timed } from "./timed.js";
import type { Offer, Worker } from "./worker.js";

/** A wish for work that waits: one request of a worker that pulls. */
export interface Claim {
  readonly door: DoorState;
  readonly request: RequestId;
  readonly worker: Worker;
  readonly leaseMs: number;
  /** How many attempts it still takes. */
  left: number;
  /** It found nothing at once: the first task that comes answers it. */
  isWaiting: boolean;
  offer: Offer | undefined;
  deadline: Deadline<Timed> | undefined;
}

/** Somebody who waits for a task's outcome. */
export interface Watch {
  readonly door: DoorState;
  readonly request: RequestId;
  readonly task: TaskId;
  deadline: Deadline<Timed> | undefined;
}

export class DoorState {
  readonly name: string;
  incarnation = 0;
  /** Its workers cannot come back for what they held before a restart. */
  forgets = false;
  /** Its workers are asked what they hold after a restart: what is out at a clean stop stays with them. */
  resumes = false;
  /** The number of its last post that was taken in. */
  mark = 0;
  /** The step that will write the mark down, if it has moved since the last. */
  step: Step | undefined = undefined;
  readonly workers = new Set<Worker>();
  /** How many of them each host has. */
  readonly workersByHost = new Map<string, number>();
  /** Queues that exist because a peer of this door named them. */
  queuesNamed = 0;
  readonly claims = new Map<RequestId, Claim>();
  readonly watches = new Map<RequestId, Watch>();

  constructor(name: string) {
    this.name = name;
  }
}
