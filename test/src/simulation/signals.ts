// The simulated dialect: a datagram each, lossy both ways, with acknowledgements. It has what the real ones have between
// them: askers with numbers of their own, workers with slots and workers that pull, taking back, cancelling.

import type { AttemptNumber, TaskId } from "@yardmaster/core";

export interface Held {
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
}

export type ClientSignal =
  | {
      readonly type: "submit";
      readonly number: number;
      readonly payload: string;
      readonly priority: number;
      readonly delayMs: number;
      readonly waitingMsMax: number;
      readonly attemptTimeoutMs: number;
      readonly failures: number;
    }
  | { readonly type: "cancel"; readonly number: number }
  /** The outcome was heard. */
  | { readonly type: "heard"; readonly number: number };

export type WorkerSignal =
  | {
      readonly type: "hello";
      readonly life: number;
      readonly queues: readonly string[];
      readonly slots: number;
      readonly runsAtOnce: number;
      readonly givesBack: boolean;
      readonly pulls: boolean;
      readonly held: readonly Held[];
    }
  | { readonly type: "beat"; readonly life: number; readonly queued: number; readonly held: readonly Held[] }
  | { readonly type: "want"; readonly queue: string; readonly max: number }
  /** The work arrived. */
  | ({ readonly type: "got" } & Held)
  | ({ readonly type: "done"; readonly result: string } & Held)
  | ({ readonly type: "failed" } & Held)
  | ({ readonly type: "return"; readonly reason: "busy" | "balance" } & Held)
  | { readonly type: "bye" };

export type YardSignal =
  | { readonly type: "accepted"; readonly number: number; readonly task: TaskId }
  | { readonly type: "refused"; readonly number: number; readonly code: string }
  | {
      readonly type: "outcome";
      readonly number: number;
      readonly task: TaskId;
      readonly state: string;
      readonly result: string | undefined;
    }
  | ({ readonly type: "work"; readonly payload: string } & Held)
  /** The answer to done, failed and return: whether it counted. */
  | ({ readonly type: "settled"; readonly counted: boolean } & Held)
  | ({ readonly type: "stop" } & Held)
  | { readonly type: "recall"; readonly attempts: readonly Held[] }
  /** A worker that is not known has spoken. */
  | { readonly type: "who" };

export type Signal = ClientSignal | WorkerSignal | YardSignal;
