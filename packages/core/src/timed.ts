// What can be due in the core: the subjects of its deadlines.

import type { Claim, Watch } from "./door-state.js";
import type { Lease } from "./lease.js";
import type { Queue } from "./queue.js";
import type { Task } from "./task.js";
import type { Worker } from "./worker.js";

export type Timed =
  /** A delay or backoff is over. */
  | { readonly type: "wake"; readonly task: Task }
  | { readonly type: "expire"; readonly task: Task }
  /** Tell again. */
  | { readonly type: "tell"; readonly task: Task }
  /** The time for telling is over, for the oldest that were not told. */
  | { readonly type: "tellings" }
  /** A lease or an attempt's time limit is over. */
  | { readonly type: "lease"; readonly lease: Lease }
  | { readonly type: "claim"; readonly claim: Claim }
  | { readonly type: "watch"; readonly watch: Watch }
  /** A worker that was busy may be offered work again. */
  | { readonly type: "hold"; readonly worker: Worker }
  | { readonly type: "balance"; readonly queue: Queue }
  /** A queue whose last worker ended in order has been shown for long enough. */
  | { readonly type: "linger"; readonly queue: Queue }
  | { readonly type: "grace" }
  | { readonly type: "keys" }
  | { readonly type: "retention" };
