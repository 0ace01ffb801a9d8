// Everything that can be due in the core: the subjects of its deadlines.

import type { Claim, Watch } from "./door-state.js";
import type { Lease } from "./lease.js";
import type { Queue } from "./queue.js";
import type { Schedule } from "./schedule.js";
import type { Task } from "./task.js";
import type { Worker } from "./worker.js";

export type Timed =
  /** A delay or backoff is over. */
  | { readonly type: "wake"; readonly task: Task }
  | { readonly type: "expire"; readonly task: Task }
  /** The next delivery attempt of an outcome. */
  | { readonly type: "tell"; readonly task: Task }
  /** The delivery time of the oldest undelivered outcomes is over. */
  | { readonly type: "tellings" }
  /** A lease expires, or an attempt reaches its time limit. */
  | { readonly type: "lease"; readonly lease: Lease }
  /** A report that came too soon after the last recorded one. */
  | { readonly type: "report"; readonly lease: Lease }
  | { readonly type: "claim"; readonly claim: Claim }
  | { readonly type: "watch"; readonly watch: Watch }
  /** A worker that said it was busy may be offered work again. */
  | { readonly type: "hold"; readonly worker: Worker }
  | { readonly type: "balance"; readonly queue: Queue }
  /** A queue whose last worker left in order has been listed long enough. */
  | { readonly type: "linger"; readonly queue: Queue }
  /** Dependents that have not heard yet that a dependency has ended. */
  | { readonly type: "releases" }
  /** The token bucket of a queue has a token again. */
  | { readonly type: "rate"; readonly queue: Queue }
  | { readonly type: "grace" }
  /** A schedule's next time, or a look at the wall clock before it. */
  | { readonly type: "schedule"; readonly schedule: Schedule }
  | { readonly type: "keys" }
  | { readonly type: "retention" };
