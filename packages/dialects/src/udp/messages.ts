// Messages between clients, the dispatcher and calculators over UDP. Clause numbers refer to
// docs/dialects/udp.md.

/** [udp 1.3] 0: no ack wanted; 1: ack wanted; 2: this is an ack. */
export type PacketType = 0 | 1 | 2;

/** [udp 1.4] Unique only within a sender. */
export type TransmissionId = number | string;

/** [udp 2.1] A client's name for its task. */
export type UdpTaskId = number | string;

export type Params = Readonly<Record<string, unknown>>;

/** Params as text: the JSON of an object. */
export type ParamsText = string;

/** The dialect's methods. Any other word is unknown. */
export const methods = [
  "add_task",
  "perform_task",
  "completed_task",
  "heartbeat",
  "notify_task",
  "status",
] as const;

export type Method = (typeof methods)[number];

export interface Packet {
  readonly method: string;
  readonly params: Params;
  readonly packetType: PacketType;
  /** Always present in a request for an ack, and in the ack. */
  readonly transmissionId: TransmissionId | undefined;
  /** [udp 1.5] Additional content of an ack. */
  readonly result: Params | undefined;
  /** The original bytes, because an ack returns all of them. */
  readonly datagram: Buffer;
  /** Offset of the one byte by which an ack differs; -1 if it cannot be found without parsing. */
  readonly typeAt: number;
}

/**
 * [udp 5] The names of the document's registry; "unavailable" is its word for one that does not
 * ack.
 */
export type CalculatorStatus = "ready" | "busy" | "unavailable";

/**
 * [udp 3.1] How a calculator writes its status: as words by the document, or as numbers by the
 * program.
 */
export type UdpForm = "document" | "program";

export type NotifiedStatus = "success" | "error" | "failed_post";

/** A calculator's names for a task. At least one is present. */
export interface TaskNames {
  readonly uuid: string | undefined;
  readonly taskId: UdpTaskId | undefined;
}

export type Request =
  | { readonly type: "add_task"; readonly taskId: UdpTaskId }
  | { readonly type: "completed_task"; readonly names: TaskNames }
  | { readonly type: "heartbeat"; readonly status: CalculatorStatus; readonly form: UdpForm };

export type DispatcherRequest =
  | { readonly type: "perform_task"; readonly names: TaskNames }
  | { readonly type: "notify_task"; readonly taskId: UdpTaskId; readonly status: NotifiedStatus }
  | { readonly type: "status" };

/** A peer's mistake, as the label of a metric. */
export type UdpFault =
  | "too_large"
  | "not_json"
  | "too_deep"
  | "not_an_object"
  | "bad_packet_type"
  | "bad_transmission_id"
  | "bad_method"
  | "bad_params"
  | "unknown_method"
  | "bad_task_id"
  | "bad_status";

export type Reading<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly fault: UdpFault };
