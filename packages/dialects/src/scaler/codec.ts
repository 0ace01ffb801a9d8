// Frames to messages and back, from the scheduler's side. The frames are those after the peer's
// identity, which the ROUTER socket strips. There is no delimiter frame. The other sides are in
// peer-codec.ts.

import type { WireFrames } from "../wire-frames.js";
import {
  areIds,
  codeOf,
  isId,
  isIdIn,
  isProgram,
  letterFrame,
  letterIn,
  letterOf,
  none,
  pushObjects,
  read,
  readCounts,
  refused,
  typeOf,
} from "./frames.js";
import { messageFramesMax, readGraph, readOversized } from "./graph-codec.js";
import type {
  ClientDisconnect,
  ClientMessage,
  ObjectAnswer,
  ObjectCreate,
  ObjectDelete,
  ObjectRequest,
  OversizedRequest,
  PeerMessage,
  Reading,
  ScalerWire,
  TaskCancel,
  ToClient,
  ToWorker,
  WorkerMessage,
} from "./messages.js";
import { ObjectCreation } from "./object-creation.js";
import { ObjectDeletion } from "./object-deletion.js";
import { PackedResult, PackedTask } from "./packed-messages.js";
import {
  readCancelFlags,
  readClientHeartbeat,
  readHeartbeat,
  writeCancelFlags,
  writeU32,
} from "./structs.js";
import { readTask, readTaskResult } from "./task-codec.js";

export { isProgram };

export const code = {
  HB: codeOf("HB"),
  HE: codeOf("HE"),
  TK: codeOf("TK"),
  TC: codeOf("TC"),
  TR: codeOf("TR"),
  OI: codeOf("OI"),
  OR: codeOf("OR"),
  OA: codeOf("OA"),
  BQ: codeOf("BQ"),
  BR: codeOf("BR"),
  DR: codeOf("DR"),
  DP: codeOf("DP"),
  CS: codeOf("CS"),
  CR: codeOf("CR"),
  CB: codeOf("CB"),
  CE: codeOf("CE"),
  GT: codeOf("GT"),
  GC: codeOf("GC"),
};

/** Every type of the dialect. */
export const messageTypes = Object.keys(code);

export const word = {
  HB: Buffer.from("HB"),
  HE: Buffer.from("HE"),
  TK: Buffer.from("TK"),
  TC: Buffer.from("TC"),
  TR: Buffer.from("TR"),
  OI: Buffer.from("OI"),
  OR: Buffer.from("OR"),
  OA: Buffer.from("OA"),
  BQ: Buffer.from("BQ"),
  BR: Buffer.from("BR"),
  DR: Buffer.from("DR"),
  DP: Buffer.from("DP"),
  CS: Buffer.from("CS"),
  CR: Buffer.from("CR"),
  CB: Buffer.from("CB"),
  CE: Buffer.from("CE"),
  GT: Buffer.from("GT"),
  GC: Buffer.from("GC"),
};

/**
 * Reads a message from any peer. `wire` is the form that its first heartbeat showed; clients always
 * use form r. The frames are lent, and only an `ObjectCreation` refers to them.
 */
export function readFromPeer(frames: WireFrames, wire: ScalerWire): Reading<PeerMessage> {
  if (frames.count < 2) return refused("no_payload");
  const type = typeOf(frames);
  if (frames.count > messageFramesMax && type !== code.OI) return readTooMany(frames, type);
  switch (type) {
    case code.TR:
      return readTaskResult(frames, wire);
    case code.TK:
      return readTask(frames, 1, frames.count, false);
    case code.OI:
      return readObjectInstruction(frames, wire);
    case code.GT:
      return readGraph(frames);
    default:
      return type === undefined ? refused("unknown_type") : readRare(type, frames.own());
  }
}

/** [scaler 1.9] A client is told why its task or graph is refused; other messages are dropped. */
function readTooMany(frames: WireFrames, type: number | undefined): Reading<PeerMessage> {
  if (type === code.TK) return readOversized(frames, "task");
  return type === code.GT ? readOversized(frames, "graph") : refused("frame_count");
}

/** Messages that are not sent for every task. */
function readRare(type: number, frames: readonly Buffer[]): Reading<PeerMessage> {
  switch (type) {
    case code.OR:
      return readObjectRequest(frames);
    case code.HB: {
      const heartbeat = readHeartbeat(frames.slice(1));
      return heartbeat === undefined ? refused("field_size") : read(heartbeat);
    }
    case code.CB: {
      if (frames.length !== 2) return refused("frame_count");
      const heartbeat = readClientHeartbeat(frames[1] ?? none);
      return heartbeat === undefined ? refused("field_size") : read(heartbeat);
    }
    case code.TC:
      return readTaskCancel(frames);
    case code.GC:
      return readNamed(frames, (graph) => ({ type: "graph-cancel", graph }));
    case code.CS:
      return readClientDisconnect(frames);
    case code.BR:
      return readBalanceResponse(frames);
    case code.DR:
      return readNamed(frames, (worker) => ({ type: "disconnect-request", worker }));
    default:
      return refused("unknown_type");
  }
}

export function isFromWorker(message: PeerMessage): message is WorkerMessage {
  return workerTypes.has(message.type);
}

export function isFromClient(message: PeerMessage): message is ClientMessage | OversizedRequest {
  return clientTypes.has(message.type);
}

const both: readonly PeerMessage["type"][] = ["object-create", "object-delete", "object-request"];
const workerTypes = new Set<PeerMessage["type"]>([
  ...both,
  ...(["heartbeat", "task-result", "balance-response", "disconnect-request"] as const),
]);
const clientTypes = new Set<PeerMessage["type"]>([
  ...both,
  ...([
    "client-heartbeat",
    "task",
    "task-cancel",
    "graph",
    "graph-cancel",
    "client-disconnect",
    "oversized-request",
  ] as const),
]);

export function writeToWorker(message: ToWorker, wire: ScalerWire): Buffer[] {
  switch (message.type) {
    case "task":
      return [word.TK, ...PackedTask.of(message).frames];
    case "heartbeat-echo":
      return [word.HE, none];
    case "object-answer":
      return writeObjectAnswer(message);
    case "object-delete":
      return writeObjectInstruction(message, wire);
    case "task-cancel":
      return writeTaskCancel(message, wire);
    case "balance-request":
      return [word.BQ, writeU32(message.count)];
    case "disconnect-response":
      return [word.DP, message.worker];
    case "client-disconnect":
      return writeClientDisconnect(message);
    default:
      return message satisfies never;
  }
}

/** [scaler 1.1] Clients always use form r. */
export function writeToClient(message: ToClient): Buffer[] {
  switch (message.type) {
    case "task-result":
      return [word.TR, ...PackedResult.of(message).frames];
    case "object-answer":
      return writeObjectAnswer(message);
    case "client-heartbeat-echo":
      return [word.CE, none];
    case "shutdown-response":
      return [word.CR, letterFrame(message.isAccepted ? "\u0001" : "\u0000")];
    default:
      return message satisfies never;
  }
}

function readNamed<Message>(frames: readonly Buffer[], make: (id: Buffer) => Message): Reading<Message> {
  if (frames.length !== 2) return refused("frame_count");
  const id = frames[1];
  return isId(id) ? read(make(id)) : refused("id_size");
}

/** [scaler 2.2] A client may omit the flags. A form-d worker must not receive any. */
export function readTaskCancel(frames: readonly Buffer[]): Reading<TaskCancel> {
  if (frames.length !== 2 && frames.length !== 3) return refused("frame_count");
  const task = frames[1];
  if (!isId(task)) return refused("id_size");
  if (frames.length === 2) return read({ type: "task-cancel", task });
  const flags = readCancelFlags(frames[2] ?? none);
  return flags === undefined ? refused("field_size") : read({ type: "task-cancel", task, flags });
}

const noFlags = { force: false, retrieveTaskObject: false };

export function writeTaskCancel({ task, flags = noFlags }: TaskCancel, wire: ScalerWire): Buffer[] {
  return isProgram(wire) ? [word.TC, task, writeCancelFlags(flags)] : [word.TC, task];
}

/**
 * [scaler 5.1] The frame that is a single C or D shows the field order. If both frames are, the
 * peer's form decides.
 */
export function readObjectInstruction(
  frames: WireFrames,
  wire: ScalerWire,
): Reading<ObjectCreate | ObjectDelete> {
  if (frames.count < 4) return refused("frame_count");
  const inR = instructionOf(letterIn(frames, 1));
  const inD = instructionOf(letterIn(frames, 2));
  const isR = inR !== undefined && (inD === undefined || isProgram(wire));
  const instruction = isR ? inR : inD;
  const sourceAt = isR ? 2 : 1;
  if (instruction === undefined) return refused("bad_kind");
  if (!isIdIn(frames, sourceAt)) return refused("id_size");
  const counts = readCounts(frames, 3);
  if (!counts.ok) return counts;
  const { ids, names, bytes, first, hasSplitCounts } = counts.message;
  if (instruction === "C") {
    if (names !== ids || bytes !== ids) return refused("counts_differ");
    return read(new ObjectCreation(frames, sourceAt, counts.message));
  }
  if (names + bytes > 0) return refused("counts_differ");
  if (frames.areMany) return read(new ObjectDeletion(frames, sourceAt, first, hasSplitCounts));
  const own = frames.own();
  const source = own[sourceAt] as Buffer;
  return read({ type: "object-delete", source, ids: own.slice(first), hasSplitCounts });
}

function instructionOf(letter: string | undefined): "C" | "D" | undefined {
  return letter === "C" || letter === "D" ? letter : undefined;
}

export function writeObjectInstruction(message: ObjectCreate | ObjectDelete, wire: ScalerWire): Buffer[] {
  const kind = letterFrame(message.type === "object-create" ? "C" : "D");
  const { source } = message;
  const frames = isProgram(wire) ? [word.OI, kind, source] : [word.OI, source, kind];
  return pushObjects(frames, "names" in message ? message : { ...message, names: [], bytes: [] });
}

export function readObjectRequest(frames: readonly Buffer[]): Reading<ObjectRequest> {
  if (letterOf(frames[1]) !== "A") return refused("bad_kind");
  if (frames.length < 3) return refused("frame_count");
  const ids = frames.slice(2);
  return areIds(ids) ? read({ type: "object-request", ids }) : refused("id_size");
}

function writeObjectAnswer(message: ObjectAnswer): Buffer[] {
  return pushObjects([word.OA, letterFrame(message.kind === "content" ? "C" : "N")], message);
}

/**
 * [scaler 3.5] A count may precede the ids. So a four-byte first id whose value is the number of
 * ids after it is read as that count.
 */
function readBalanceResponse(frames: readonly Buffer[]): Reading<PeerMessage> {
  const first = frames[1];
  const hasCount = first?.length === 4 && first.readUInt32LE() === frames.length - 2;
  const tasks = frames.slice(hasCount ? 2 : 1).filter(({ length }) => length > 0);
  return areIds(tasks) ? read({ type: "balance-response", tasks }) : refused("id_size");
}

function readClientDisconnect(frames: readonly Buffer[]): Reading<ClientDisconnect> {
  if (frames.length !== 2) return refused("frame_count");
  const kind = letterOf(frames[1]);
  if (kind !== "D" && kind !== "S") return refused("bad_kind");
  return read({ type: "client-disconnect", kind: kind === "D" ? "disconnect" : "shutdown" });
}

export function writeClientDisconnect({ kind }: ClientDisconnect): Buffer[] {
  return [word.CS, letterFrame(kind === "disconnect" ? "D" : "S")];
}
