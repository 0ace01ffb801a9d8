// Frames to messages and back, as the scheduler reads and writes them. Frames are those after the peer's identity, which a
// ROUTER keeps; there is no delimiter. The other ends are in peer-codec.ts.

import {
  areIds,
  codeOf,
  isId,
  letterFrame,
  letterOf,
  none,
  pushObjects,
  pushTask,
  read,
  readObjects,
  readTask,
  refused,
  statusOf,
  typeOf,
} from "./frames.js";
import type {
  ClientDisconnect,
  ClientMessage,
  GraphMessage,
  ObjectAnswer,
  ObjectCreate,
  ObjectDelete,
  ObjectRequest,
  PeerMessage,
  Reading,
  ScalerWire,
  TaskCancel,
  TaskMessage,
  TaskResult,
  ToClient,
  ToWorker,
  WorkerMessage,
} from "./messages.js";
import {
  readCancelFlags,
  readClientHeartbeat,
  readHeartbeat,
  resultMetadataBytes,
  writeCancelFlags,
  writeU32,
} from "./structs.js";

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

/** Reads what any peer may say to the scheduler. `wire` is what its first heartbeat showed; clients speak r. */
export function readFromPeer(frames: readonly Buffer[], wire: ScalerWire): Reading<PeerMessage> {
  if (frames.length < 2) return refused("no_payload");
  switch (typeOf(frames)) {
    case code.TR:
      return readTaskResult(frames, wire);
    case code.TK:
      return readTask(frames, 1, frames.length, false);
    case code.OI:
      return readObjectInstruction(frames, wire);
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
    case code.GT:
      return readGraph(frames);
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

export function isFromClient(message: PeerMessage): message is ClientMessage {
  return clientTypes.has(message.type);
}

const both: readonly PeerMessage["type"][] = ["object-create", "object-delete", "object-request"];
const workerTypes = new Set<PeerMessage["type"]>([
  ...both,
  ...(["heartbeat", "task-result", "balance-response", "disconnect-request"] as const),
]);
const clientTypes = new Set<PeerMessage["type"]>([
  ...both,
  ...(["client-heartbeat", "task", "task-cancel", "graph", "graph-cancel", "client-disconnect"] as const),
]);

export function writeToWorker(message: ToWorker, wire: ScalerWire): Buffer[] {
  switch (message.type) {
    case "task":
      return pushTask([word.TK], message);
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

/** [scaler 1.1] Clients are always of form r. */
export function writeToClient(message: ToClient): Buffer[] {
  switch (message.type) {
    case "task-result":
      return writeTaskResult(message, "r");
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

export function isProgram(wire: ScalerWire): boolean {
  return wire === "r" || wire === "r-packed";
}

function readNamed<Message>(frames: readonly Buffer[], make: (id: Buffer) => Message): Reading<Message> {
  if (frames.length !== 2) return refused("frame_count");
  const id = frames[1];
  return isId(id) ? read(make(id)) : refused("id_size");
}

/** [scaler 2.3] The two forms have the last two fields in another order, and r has any number of results. */
export function readTaskResult(frames: readonly Buffer[], wire: ScalerWire): Reading<TaskResult> {
  const isR = isProgram(wire);
  if (isR ? frames.length < 4 : frames.length !== 5) return refused("frame_count");
  const task = frames[1];
  const status = statusOf(frames[2]);
  const metadata = frames[isR ? 3 : 4] ?? none;
  if (!isId(task)) return refused("id_size");
  if (status === undefined) return refused("bad_status");
  // The document leaves open what is in it: only what a client can take is handed on.
  if (isR && metadata.length !== 0 && metadata.length !== resultMetadataBytes) return refused("field_size");
  const results = isR ? frames.slice(4) : frames.slice(3, 4).filter(({ length }) => length > 0);
  if (!areIds(results)) return refused("id_size");
  return read({ type: "task-result", task, status, metadata, results });
}

export function writeTaskResult(message: TaskResult, wire: ScalerWire): Buffer[] {
  const { task, status, metadata, results } = message;
  if (isProgram(wire)) return [word.TR, task, letterFrame(status), metadata, ...results];
  return [word.TR, task, letterFrame(status), results[0] ?? none, metadata];
}

/** [scaler 2.2] Flags are optional on the way in; a form-d worker must not get any. */
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

/** [scaler 5.1] The frame that is a single C or D tells the order; where both are, what the peer speaks does. */
export function readObjectInstruction(
  frames: readonly Buffer[],
  wire: ScalerWire,
): Reading<ObjectCreate | ObjectDelete> {
  if (frames.length < 4) return refused("frame_count");
  const inR = instructionOf(frames[1]);
  const inD = instructionOf(frames[2]);
  const isR = inR !== undefined && (inD === undefined || isProgram(wire));
  const instruction = isR ? inR : inD;
  const source = frames[isR ? 2 : 1];
  if (instruction === undefined) return refused("bad_kind");
  if (!isId(source)) return refused("id_size");
  const objects = readObjects(frames, 3);
  if (!objects.ok) return objects;
  const { ids, names, bytes, hasSplitCounts } = objects.message;
  if (instruction === "D") {
    if (names.length + bytes.length > 0) return refused("counts_differ");
    return read({ type: "object-delete", source, ids, hasSplitCounts });
  }
  if (names.length !== ids.length || bytes.length !== ids.length) return refused("counts_differ");
  return read({ type: "object-create", source, ids, names, bytes, hasSplitCounts });
}

function instructionOf(frame: Buffer | undefined): "C" | "D" | undefined {
  const letter = letterOf(frame);
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

/** [scaler 3.5] A count of the ids may stand before them: a task id of four bytes that counts them is taken for one. */
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

/** [scaler 6.1] */
function readGraph(frames: readonly Buffer[]): Reading<GraphMessage> {
  const [, graph, source, count] = frames;
  if (count === undefined) return refused("frame_count");
  if (!isId(graph) || !isId(source)) return refused("id_size");
  if (count.length !== 4) return refused("field_size");
  let at = 4 + count.readUInt32LE();
  if (at > frames.length) return refused("counts_differ");
  const targets = frames.slice(4, at);
  if (!areIds(targets)) return refused("id_size");
  const nodes: TaskMessage[] = [];
  while (at < frames.length) {
    const size = frames[at];
    if (size?.length !== 4) return refused("field_size");
    const end = at + 1 + size.readUInt32LE();
    if (end > frames.length) return refused("counts_differ");
    const node = readTask(frames, at + 1, end, true);
    if (!node.ok) return node;
    nodes.push(node.message);
    at = end;
  }
  return read({ type: "graph", graph, source, targets, nodes });
}
