// The messages between scaler's clients, workers and scheduler, without their bytes. Clause numbers
// refer to docs/dialects/scaler.md.

/**
 * [scaler 1.2] A peer's wire form: that of program 1.7.14 (r) or of the document (d), with the
 * layout of its heartbeat.
 */
export type ScalerWire = "r" | "r-packed" | "d" | "d-packed" | "d-split";

/** [scaler 2.3] Only form r has `N`. */
export type TaskStatus = "S" | "F" | "C" | "N" | "K" | "W" | "I" | "R" | "X";

/**
 * [scaler 3.1] A processor runs tasks for its worker. In form d there is exactly one, without a
 * pid.
 */
export interface Processor {
  readonly pid: number;
  readonly isInitialized: boolean;
  readonly hasTask: boolean;
  readonly isSuspended: boolean;
  /** In thousandths of a core. */
  readonly cpu: number;
  readonly rssBytes: bigint;
}

export interface Heartbeat {
  readonly type: "heartbeat";
  readonly wire: ScalerWire;
  /** In thousandths of a core. */
  readonly agentCpu: number;
  readonly agentRssBytes: bigint;
  readonly freeRssBytes: bigint;
  readonly queuedTasks: number;
  readonly latencyUs: number;
  readonly hasTaskLock: boolean;
  readonly processors: readonly Processor[];
}

/** [scaler 4.1] */
export interface ClientHeartbeat {
  readonly type: "client-heartbeat";
  readonly cpu: number;
  readonly rssBytes: bigint;
  readonly latencyUs: number;
}

/** `R` refers to an object, `T` to the result of a task of the same graph. */
export interface Argument {
  readonly kind: "R" | "T";
  readonly id: Buffer;
}

/** [scaler 2.1] */
export interface TaskMessage {
  readonly type: "task";
  readonly task: Buffer;
  readonly source: Buffer;
  /** Empty, or 5 bytes: see `priorityOf`. Passed on unchanged. */
  readonly metadata: Buffer;
  readonly function: Buffer;
  readonly arguments: readonly Argument[];
}

export interface CancelFlags {
  readonly force: boolean;
  readonly retrieveTaskObject: boolean;
}

/** [scaler 2.2] Form d has no flags, and a client may omit them. */
export interface TaskCancel {
  readonly type: "task-cancel";
  readonly task: Buffer;
  readonly flags?: CancelFlags;
}

/** [scaler 2.3] Form d has at most one result; the list is empty if there is none. */
export interface TaskResult {
  readonly type: "task-result";
  readonly task: Buffer;
  readonly status: TaskStatus;
  /** Empty, or 12 bytes. Passed on unchanged. */
  readonly metadata: Buffer;
  readonly results: readonly Buffer[];
}

/** [scaler 5.1] */
export interface ObjectCreate {
  readonly type: "object-create";
  readonly source: Buffer;
  readonly ids: readonly Buffer[];
  /** One for each id, in the same order. */
  readonly names: readonly Buffer[];
  readonly bytes: readonly Buffer[];
  /** Each of the three counts has its own frame, which is one way to read the document. */
  readonly hasSplitCounts: boolean;
}

/** The sizes of frames that were too large to keep, keyed by the empty frames that replace them. */
export type OversizedFrames = ReadonlyMap<Buffer, number>;

export interface ObjectDelete {
  readonly type: "object-delete";
  readonly source: Buffer;
  readonly ids: readonly Buffer[];
  readonly hasSplitCounts: boolean;
}

export interface ObjectRequest {
  readonly type: "object-request";
  readonly ids: readonly Buffer[];
}

/**
 * [scaler 5.2] The ids equal those of the request. Names and bytes are fewer if an object is
 * missing.
 */
export interface ObjectAnswer {
  readonly type: "object-answer";
  readonly kind: "content" | "not-found";
  readonly ids: readonly Buffer[];
  readonly names: readonly Buffer[];
  readonly bytes: readonly Buffer[];
  readonly hasSplitCounts: boolean;
}

export interface BalanceRequest {
  readonly type: "balance-request";
  readonly count: number;
}

export interface BalanceResponse {
  readonly type: "balance-response";
  readonly tasks: readonly Buffer[];
}

/** [scaler 3.6] A worker announces that it leaves (DR), and the scheduler agrees (DP). */
export interface DisconnectRequest {
  readonly type: "disconnect-request";
  readonly worker: Buffer;
}

export interface DisconnectResponse {
  readonly type: "disconnect-response";
  readonly worker: Buffer;
}

/**
 * [scaler 4.6] A client leaves or asks to shut everything down. Sent to a worker, it means: shut
 * down.
 */
export interface ClientDisconnect {
  readonly type: "client-disconnect";
  readonly kind: "disconnect" | "shutdown";
}

export interface ShutdownResponse {
  readonly type: "shutdown-response";
  readonly isAccepted: boolean;
}

/** [scaler 6.1] */
export interface GraphMessage {
  readonly type: "graph";
  readonly graph: Buffer;
  readonly source: Buffer;
  readonly targets: readonly Buffer[];
  readonly nodes: readonly TaskMessage[];
}

/** [scaler 2.7] [scaler 6.8] A task or a graph that is too large, of which only the id was read. */
export interface OversizedRequest {
  readonly type: "oversized-request";
  readonly id: Buffer;
  /** Why it is too large, in words. */
  readonly reason: string;
}

export interface GraphCancel {
  readonly type: "graph-cancel";
  readonly graph: Buffer;
}

export interface HeartbeatEcho {
  readonly type: "heartbeat-echo";
}

export interface ClientHeartbeatEcho {
  readonly type: "client-heartbeat-echo";
}

export type WorkerMessage =
  | Heartbeat
  | TaskResult
  | ObjectCreate
  | ObjectDelete
  | ObjectRequest
  | BalanceResponse
  | DisconnectRequest;

export type ClientMessage =
  | ClientHeartbeat
  | TaskMessage
  | TaskCancel
  | GraphMessage
  | GraphCancel
  | ObjectCreate
  | ObjectDelete
  | ObjectRequest
  | ClientDisconnect;

/** Until a peer has shown its role, the scheduler must accept messages of both. */
export type PeerMessage = WorkerMessage | ClientMessage | OversizedRequest;

export type ToWorker =
  | HeartbeatEcho
  | TaskMessage
  | TaskCancel
  | ObjectDelete
  | ObjectAnswer
  | BalanceRequest
  | DisconnectResponse
  | ClientDisconnect;

export type ToClient = ClientHeartbeatEcho | TaskResult | ObjectAnswer | ShutdownResponse;

/** A peer's mistake, used as a metric label. */
export type ScalerFault =
  | "no_payload"
  | "unknown_type"
  | "frame_count"
  | "field_size"
  | "id_size"
  | "bad_status"
  | "bad_kind"
  | "counts_differ";

export type Reading<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly fault: ScalerFault };
