// What scaler's clients and workers and the scheduler between them say to each other, without a byte. Clause numbers are
// those of docs/dialects/scaler.md.

/** [scaler 1.2] How a peer writes: the 1.7.14 program's form (r) or the document's (d), and how it packs its heartbeat. */
export type ScalerWire = "r" | "r-packed" | "d" | "d-packed" | "d-split";

/** [scaler 2.3] `N` is of form r alone. */
export type TaskStatus = "S" | "F" | "C" | "N" | "K" | "W" | "I" | "R" | "X";

/** [scaler 3.1] A processor runs tasks for its worker. In form d there is one, without a pid. */
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

/** `R` names an object, `T` a task of the same graph whose result is meant. */
export interface Argument {
  readonly kind: "R" | "T";
  readonly id: Buffer;
}

/** [scaler 2.1] */
export interface TaskMessage {
  readonly type: "task";
  readonly task: Buffer;
  readonly source: Buffer;
  /** Empty, or 5 bytes: see `priorityOf`. Handed on as it came. */
  readonly metadata: Buffer;
  readonly function: Buffer;
  readonly arguments: readonly Argument[];
}

export interface CancelFlags {
  readonly force: boolean;
  readonly retrieveTaskObject: boolean;
}

/** [scaler 2.2] Without flags in form d; from a client they may be missing. */
export interface TaskCancel {
  readonly type: "task-cancel";
  readonly task: Buffer;
  readonly flags?: CancelFlags;
}

/** [scaler 2.3] In form d there is one result at most, empty where there is none. */
export interface TaskResult {
  readonly type: "task-result";
  readonly task: Buffer;
  readonly status: TaskStatus;
  /** Empty or 12 bytes. Handed on as it came. */
  readonly metadata: Buffer;
  readonly results: readonly Buffer[];
}

/** [scaler 5.1] */
export interface ObjectCreate {
  readonly type: "object-create";
  readonly source: Buffer;
  readonly ids: readonly Buffer[];
  /** As many as ids, in their order. */
  readonly names: readonly Buffer[];
  readonly bytes: readonly Buffer[];
  /** The three counts in a frame each: a way to read the document. */
  readonly hasSplitCounts: boolean;
}

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

/** [scaler 5.2] Ids as the request had them; fewer names and bytes where an object is missing. */
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

/** [scaler 3.6] A worker says that it leaves (DR), and is told that it may (DP). */
export interface DisconnectRequest {
  readonly type: "disconnect-request";
  readonly worker: Buffer;
}

export interface DisconnectResponse {
  readonly type: "disconnect-response";
  readonly worker: Buffer;
}

/** [scaler 4.6] A client leaves, or wants everything shut down; to a worker: shut down. */
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

/** Before a peer has shown what it is, the scheduler cannot know which of the two it reads. */
export type PeerMessage = WorkerMessage | ClientMessage;

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

/** What a peer did wrong, as a label of a metric. */
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
