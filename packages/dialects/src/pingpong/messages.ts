// Messages of the pingpong dialect, without their bytes. Clause numbers refer to
// docs/dialects/pingpong.md. Messages to the broker carry a body for the core. Messages from the
// broker carry the parts of a body.

import type { Body } from "@yardmaster/core";

/** [pingpong 2] From a worker. */
export type WorkerMessage =
  | { readonly type: "ready" }
  | { readonly type: "ping" }
  /**
   * [pingpong 3.3] The worker leaves in order, by the program's own word. From a busy worker it is
   * a result like any other.
   */
  | { readonly type: "disconnect"; readonly result: Body }
  /** [pingpong 3.2] `client`: the client that the job named. Program form only. */
  | { readonly type: "result"; readonly result: Body; readonly client?: Buffer };

/** [pingpong 2] To a worker. */
export type BrokerMessage =
  | { readonly type: "pong" }
  /** [pingpong 3.1] `client`: the name to be returned with the result. Program form only. */
  | { readonly type: "job"; readonly parts: readonly Buffer[]; readonly client?: Buffer };

/** [pingpong 4] From a client. Its correlation frames are returned in front of the answer. */
export interface ClientRequest {
  readonly correlation: readonly Buffer[];
  readonly payload: Body;
}

/** [pingpong 4.4] To a client: a result, or an error in the broker's own words. */
export type ClientAnswer =
  | { readonly type: "result"; readonly correlation: readonly Buffer[]; readonly parts: readonly Buffer[] }
  | {
      readonly type: "error";
      readonly correlation: readonly Buffer[];
      readonly code: string;
      readonly message: string;
    };

/**
 * The form in which jobs are written to workers. A worker does not show its form before it has been
 * given work.
 */
export type PingpongForm = "document" | "program";

/** A peer's mistake, as the label of a metric. */
export type PingpongFault = "no_delimiter" | "no_content" | "correlation_too_large";

export type Reading<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly fault: PingpongFault };
