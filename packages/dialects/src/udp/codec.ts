// Reads and writes datagrams, for both ends and both forms. Nothing here throws.

import { isAscii, isUtf8 } from "node:buffer";
import { isNestedDeeper } from "../nesting.js";
import type {
  CalculatorStatus,
  DispatcherRequest,
  Method,
  NotifiedStatus,
  Packet,
  PacketType,
  Params,
  ParamsText,
  Reading,
  Request,
  TaskNames,
  TransmissionId,
  UdpFault,
  UdpForm,
  UdpTaskId,
} from "./messages.js";

/** [udp 1.1] Datagrams of any size are read. */
export const datagramBytesInMax = 64 * 1024;
/**
 * [udp 1.1] Real peers read this many bytes and lose the rest. A peer that has sent more has shown
 * that it reads more.
 */
export const datagramBytesOutMax = 1_024;
/** [udp 2.1] A task_id is used in keys and, twice, in a datagram. */
export const taskIdLengthMax = 128;
/**
 * [udp 1.2] JSON can nest as deep as a datagram is long; a value that is written again must not.
 */
export const depthMax = 64;

const noParams: Params = {};

export function readPacket(bytes: Buffer): Reading<Packet> {
  if (bytes.length > datagramBytesInMax) return fault("too_large");
  const isPlain = isAscii(bytes);
  if (!isPlain && !isUtf8(bytes)) return fault("not_json");
  const text = bytes.toString(isPlain ? "latin1" : "utf8");
  const object = parse(text);
  if (object === undefined) return fault("not_json");
  if (!isObject(object)) return fault("not_an_object");
  // Each level takes two bytes, so most datagrams are too short to be too deep.
  if (bytes.length > 2 * depthMax && isNestedDeeper(object, depthMax)) return fault("too_deep");
  const { method, packet_type: packetType, transmission_id: transmissionId, result } = object;
  if (packetType !== 0 && packetType !== 1 && packetType !== 2) return fault("bad_packet_type");
  if (typeof method !== "string") return fault("bad_method");
  if (packetType !== 0 && !isTransmissionId(transmissionId)) return fault("bad_transmission_id");
  // The id of an ack is enough.
  const params = packetType === 2 && !isObject(object.params) ? noParams : object.params;
  if (!isObject(params)) return fault("bad_params");
  return {
    ok: true,
    message: {
      method,
      params,
      packetType,
      transmissionId: isTransmissionId(transmissionId) ? transmissionId : undefined,
      result: isObject(result) ? result : undefined,
      datagram: bytes,
      typeAt: isPlain && packetType === 1 ? findType(text) : -1,
    },
  };
}

/** Reads a request of a client or calculator to the dispatcher. */
export function readRequest({ method, params }: Packet): Reading<Request> {
  switch (method) {
    case "add_task": {
      const taskId = params.task_id;
      return isTaskId(taskId) ? { ok: true, message: { type: method, taskId } } : fault("bad_task_id");
    }
    case "completed_task": {
      const names = namesIn(params);
      return names === undefined ? fault("bad_task_id") : { ok: true, message: { type: method, names } };
    }
    case "heartbeat": {
      const status = readStatus(params.status);
      if (status === undefined) return fault("bad_status");
      return { ok: true, message: { type: method, status, form: formOf(params.status) } };
    }
    default:
      return fault("unknown_method");
  }
}

/** Reads a request of the dispatcher to a client or calculator. */
export function readDispatcherRequest({ method, params }: Packet): Reading<DispatcherRequest> {
  switch (method) {
    case "perform_task": {
      const names = namesIn(params);
      return names === undefined ? fault("bad_task_id") : { ok: true, message: { type: method, names } };
    }
    case "notify_task": {
      const { task_id: taskId, status } = params;
      if (!isTaskId(taskId)) return fault("bad_task_id");
      if (!isNotifiedStatus(status)) return fault("bad_status");
      return { ok: true, message: { type: method, taskId, status } };
    }
    case "status":
      return { ok: true, message: { type: method } };
    default:
      return fault("unknown_method");
  }
}

/** [udp 3.1] A word, a number, or a number as text. */
export function readStatus(status: unknown): CalculatorStatus | undefined {
  if (typeof status !== "string" && typeof status !== "number") return undefined;
  switch (String(status)) {
    case "ready":
    case "0":
      return "ready";
    case "busy":
    case "1":
      return "busy";
    case "2":
      return "unavailable";
    default:
      return undefined;
  }
}

/** [udp 3.1] The document has no word for "unavailable", so it is never written as a word. */
export function writeStatus(status: CalculatorStatus, form: UdpForm): string | number {
  if (form === "document") return status === "ready" ? "ready" : "busy";
  return status === "ready" ? 0 : status === "busy" ? 1 : 2;
}

export function formOf(status: unknown): UdpForm {
  return status === "ready" || status === "busy" ? "document" : "program";
}

export function writePacket(
  method: string,
  params: Params,
  packetType: PacketType,
  transmissionId?: TransmissionId,
): Buffer {
  const packet = { method, params, packet_type: packetType };
  return Buffer.from(
    JSON.stringify(transmissionId === undefined ? packet : { ...packet, transmission_id: transmissionId }),
  );
}

/** Writes a request whose params are already text. */
export function writeRequest(
  method: Method,
  params: ParamsText,
  packetType: 0 | 1,
  transmissionId?: number,
): Buffer {
  const id = transmissionId === undefined ? "" : `${idKey}${transmissionId}`;
  return Buffer.from(`{"method":"${method}","params":${params},"packet_type":${packetType}${id}}`);
}

/**
 * The offset of the number that ends what `writeRequest` writes; undefined if there are no digits.
 */
export function findTransmissionId(datagram: Buffer): number | undefined {
  const end = datagram.length - 1;
  let at = end;
  while (isDigit(datagram[at - 1]) && end - at < exactDigits) at -= 1;
  return at < end ? at : undefined;
}

export function readTransmissionId(datagram: Buffer, idAt: number): number {
  let id = 0;
  for (let at = idAt; at < datagram.length - 1; at += 1) id = 10 * id + (datagram[at] as number) - zero;
  return id;
}

/** True if these bytes equal what `writeRequest` wrote, with the type of an ack. */
export function isEcho(datagram: Buffer, request: Buffer, idAt: number): boolean {
  const typeAt = idAt - idKey.length - 1;
  if (datagram.length !== request.length || datagram[typeAt] !== ackDigit) return false;
  datagram[typeAt] = askDigit;
  const isSame = datagram.equals(request);
  datagram[typeAt] = ackDigit;
  return isSame;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= zero + 9;
}

const zero = "0".charCodeAt(0);
/** A number with this many digits is exact. */
const exactDigits = 15;
const idKey = ',"transmission_id":';

/**
 * [udp 1.1] How much may be sent to a peer that has sent this much: receive buffers are powers of
 * two.
 */
export function roomOf(bytes: number): number {
  let room = datagramBytesOutMax;
  while (room < bytes) room *= 2;
  return Math.min(room, udpBytesMax);
}

/** Maximum size of a datagram over IPv4. */
const udpBytesMax = 65_507;

/**
 * [udp 1.5] Returns the packet as an ack. If that is too long, only the fields that identify an
 * ack.
 */
export function writeAck(packet: Packet, result?: Params): Buffer {
  const { datagram, typeAt } = packet;
  if (typeAt >= 0 && result === undefined) {
    const ack = Buffer.allocUnsafe(datagram.length);
    ack.set(datagram);
    ack[typeAt] = ackDigit;
    return ack;
  }
  const object = JSON.parse(datagram.toString()) as Params;
  const whole = Buffer.from(
    JSON.stringify({ ...object, packet_type: 2, ...(result !== undefined && { result }) }),
  );
  if (whole.length <= roomOf(datagram.length)) return whole;
  const { method, params, transmissionId } = packet;
  const names = namesIn(params);
  const known = {
    ...(names?.taskId !== undefined && { task_id: names.taskId }),
    ...(names?.uuid !== undefined && { task_uuid: names.uuid }),
  };
  const ack = { method: method.slice(0, methodLengthMax), packet_type: 2, transmission_id: transmissionId };
  const named = Buffer.from(
    JSON.stringify({ ...ack, params: known, ...(result !== undefined && { result }) }),
  );
  return named.length <= datagramBytesOutMax ? named : Buffer.from(JSON.stringify({ ...ack, params: {} }));
}

const askDigit = "1".charCodeAt(0);
const ackDigit = "2".charCodeAt(0);
const typeKey = '"packet_type"';

/**
 * The offset of the 1 of `packet_type` in a packet that has it; -1 if finding it would take a full
 * parse. Without a backslash, a quote always begins or ends a string, so if these letters occur
 * only once, they are that key.
 */
function findType(text: string): number {
  const keyAt = text.indexOf(typeKey);
  if (keyAt < 0 || text.includes(typeKey, keyAt + 1) || text.includes("\\")) return -1;
  let at = keyAt + typeKey.length;
  while (text[at] === ":" || isSpace(text, at)) at += 1;
  // 1.0 and 1e0 are also 1.
  const isAlone = text[at + 1] === "," || text[at + 1] === "}" || isSpace(text, at + 1);
  return text[at] === "1" && isAlone ? at : -1;
}

/** The text must be valid JSON. */
function isSpace(text: string, at: number): boolean {
  return text.charCodeAt(at) <= 0x20;
}

/** The longest method has 14 characters. */
const methodLengthMax = 32;

/** [udp 2.2] Ends in the task_id. The part before it may contain colons. */
export function uuidOf(client: string, taskId: UdpTaskId): string {
  return `${client}:${taskId}`;
}

/** Splits host:port from the right, because an IPv6 address contains colons. */
export function addressIn(name: string): { readonly host: string; readonly port: number } | undefined {
  const colonAt = name.lastIndexOf(":");
  const portAt = colonAt + 1;
  if (colonAt <= 0 || portAt === name.length || name.length - portAt > portDigitsMax) return undefined;
  let port = 0;
  for (let at = portAt; at < name.length; at += 1) {
    const digit = name.charCodeAt(at) - zero;
    if (digit < 0 || digit > 9) return undefined;
    port = 10 * port + digit;
  }
  return port > 0 && port <= 65_535 ? { host: name.slice(0, colonAt), port } : undefined;
}

const portDigitsMax = 5;

export function isTaskId(value: unknown): value is UdpTaskId {
  if (typeof value === "string") return value.length > 0 && value.length <= taskIdLengthMax;
  return Number.isSafeInteger(value);
}

/** [udp 3.4] An invalid name counts as absent. */
function namesIn(params: Params): TaskNames | undefined {
  const { task_uuid: uuid, task_id: taskId } = params;
  const names = {
    uuid: typeof uuid === "string" && uuid.length > 0 && uuid.length <= uuidLengthMax ? uuid : undefined,
    taskId: isTaskId(taskId) ? taskId : undefined,
  };
  return names.uuid === undefined && names.taskId === undefined ? undefined : names;
}

/** Room for the longest address with a zone, a port and a task_id. */
const uuidLengthMax = taskIdLengthMax + 128;

/** A number that JavaScript cannot hold exactly would come back changed and match nothing. */
function isTransmissionId(value: unknown): value is TransmissionId {
  if (typeof value === "string") return value.length <= transmissionIdLengthMax;
  return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
}

const transmissionIdLengthMax = 64;

function isNotifiedStatus(status: unknown): status is NotifiedStatus {
  return status === "success" || status === "error" || status === "failed_post";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fault(kind: UdpFault): { readonly ok: false; readonly fault: UdpFault } {
  return { ok: false, fault: kind };
}
