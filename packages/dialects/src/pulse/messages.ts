// Messages of the pulse dialect, without their bytes. Clause numbers refer to
// docs/dialects/pulse.md.

export type PulseWord = "REGISTER" | "OK" | "FETCH_ME" | "SHUTDOWN";
export type ControllerWord = "OK" | "UNKNOWN_TYPE" | "UNKNOWN_ID" | "FAILED";
export type ControlWord = "RESTART" | "FETCH" | "SET_TASK" | "GET_STATUS";
export type WorkerWord = "OK" | "NO_FETCH" | "BUSY" | "TASK_FAILED" | "FAILED";

/** [pulse 2.1] The numbering of the enum values. A worker shows its numbering when it registers. */
export type Numbering = "document" | "main";

// [pulse 2.3] An unknown number is kept as it is. Ids are as wide as on the wire; 0 means none.

/** [pulse 3] From a worker, on main.sock. */
export interface WorkerPulse {
  readonly type: PulseWord | number;
  readonly workerId: bigint;
  readonly taskId: bigint;
  /** In seconds. */
  readonly nextPulse: bigint;
}

/** The answer to a pulse. */
export interface PulseResponse {
  readonly error: ControllerWord | number;
  /** Set only on REGISTER. */
  readonly workerId?: bigint;
}

/** [pulse 4] To a worker, on its own socket. */
export interface ControlMessage {
  readonly type: ControlWord | number;
  readonly extraSize: bigint;
  /** Set only with SET_TASK. */
  readonly taskId?: bigint;
}

/** The answer to a control message. */
export interface WorkerResponse {
  readonly error: WorkerWord | number;
  readonly taskId: bigint;
  readonly extraSize: bigint;
}

/** A peer's mistake, as the label of a metric. */
export type PulseFault = "message_too_large" | "extra_too_large" | "bad_message";

export type Reading<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly fault: PulseFault };

/** A message and the bytes behind it. */
export interface WithExtra<Message> {
  readonly message: Message;
  readonly extra: Buffer;
}
