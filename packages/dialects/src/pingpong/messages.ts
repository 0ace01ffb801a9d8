// What the peers of the pingpong dialect say to each other, without a byte. Clause numbers are those of
// docs/dialects/pingpong.md.

/** [pingpong 2] From a worker. */
export type WorkerMessage =
  | { readonly type: "ready" }
  | { readonly type: "ping" }
  /** [pingpong 3.3] Leaves of its own accord: the program has this word. From a busy worker it is a result like any other. */
  | { readonly type: "disconnect"; readonly parts: readonly Buffer[] }
  /** [pingpong 3.2] `client`: what the job named as its client; present in program form alone. */
  | { readonly type: "result"; readonly parts: readonly Buffer[]; readonly client?: Buffer };

/** [pingpong 2] To a worker. */
export type BrokerMessage =
  | { readonly type: "pong" }
  /** [pingpong 3.1] `client`: who asked, to be named with the result; present in program form alone. */
  | { readonly type: "job"; readonly parts: readonly Buffer[]; readonly client?: Buffer };

/** [pingpong 4] From a client: its own correlation frames come back in front of the answer. */
export interface ClientRequest {
  readonly correlation: readonly Buffer[];
  readonly parts: readonly Buffer[];
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

/** How a job is written to workers; a worker cannot show its form before it has been given work. */
export type PingpongForm = "document" | "program";

/** What a peer did wrong, as a label of a metric. */
export type PingpongFault = "no_delimiter" | "no_content" | "correlation_too_large";

export type Reading<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly fault: PingpongFault };
