// What clients, the dispatcher and calculators say to each other over UDP. Clause numbers are those of
// docs/dialects/udp.md.

/** [udp 1.3] 0: no ack wanted; 1: ack wanted; 2: this is the ack. */
export type PacketType = 0 | 1 | 2;

/** [udp 1.4] Unique per sender alone. */
export type TransmissionId = number | string;

/** [udp 2.1] What a client calls its task. */
export type UdpTaskId = number | string;

export type Params = Readonly<Record<string, unknown>>;

/** Params as they are written: the JSON of an object. */
export type ParamsText = string;

/** Words of the dialect. What else a peer says is no method of ours. */
export type Method = "add_task" | "perform_task" | "completed_task" | "heartbeat" | "notify_task" | "status";

export interface Packet {
  readonly method: string;
  readonly params: Params;
  readonly packetType: PacketType;
  /** Always there where an ack is wanted, and in the ack. */
  readonly transmissionId: TransmissionId | undefined;
  /** [udp 1.5] What an ack has to say beside being one. */
  readonly result: Params | undefined;
  /** As it came, since an ack sends all of it back. */
  readonly datagram: Buffer;
  /** Where in it the one byte stands by which an ack differs; -1 where that is not plain to see. */
  readonly typeAt: number;
}

/** [udp 5] As the document's registry names them; "unavailable" is its word for one that does not ack. */
export type CalculatorStatus = "ready" | "busy" | "unavailable";

/** [udp 3.1] How a calculator writes its status: in words as the document does, or in numbers as the program does. */
export type UdpForm = "document" | "program";

export type NotifiedStatus = "success" | "error" | "failed_post";

/** By what a calculator names a task: at least one of them is there. */
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

/** What a peer did wrong, as a label of a metric. */
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
