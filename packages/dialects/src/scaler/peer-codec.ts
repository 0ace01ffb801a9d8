// Frames to messages and back for the ends other than the scheduler: workers of both forms, and
// clients.

import { WireFrames } from "../wire-frames.js";
import {
  isProgram,
  readObjectInstruction,
  readTaskCancel,
  word,
  writeClientDisconnect,
  writeObjectInstruction,
  writeTaskCancel,
} from "./codec.js";
import {
  codeOf,
  isId,
  letterFrame,
  letterOf,
  none,
  pushTask,
  read,
  readCounts,
  refused,
  typeOf,
} from "./frames.js";
import type {
  ClientMessage,
  GraphMessage,
  ObjectAnswer,
  Reading,
  ScalerWire,
  TaskResult,
  ToClient,
  ToWorker,
  WorkerMessage,
} from "./messages.js";
import { writeClientHeartbeat, writeHeartbeat, writeU32 } from "./structs.js";
import { readTask, readTaskResult } from "./task-codec.js";

const code = {
  HE: codeOf("HE"),
  TK: codeOf("TK"),
  TC: codeOf("TC"),
  TR: codeOf("TR"),
  OI: codeOf("OI"),
  OA: codeOf("OA"),
  BQ: codeOf("BQ"),
  DP: codeOf("DP"),
  CS: codeOf("CS"),
  CR: codeOf("CR"),
  CE: codeOf("CE"),
};

export function writeFromWorker(message: WorkerMessage, wire: ScalerWire): Buffer[] {
  switch (message.type) {
    case "heartbeat":
      return [word.HB, ...writeHeartbeat(message)];
    case "task-result":
      return writeTaskResult(message, wire);
    case "object-create":
    case "object-delete":
      return writeObjectInstruction(message, wire);
    case "object-request":
      return [word.OR, letterFrame("A"), ...message.ids];
    case "balance-response":
      // A message needs a payload frame, and an empty one names no task.
      return [word.BR, ...(message.tasks.length === 0 ? [none] : message.tasks)];
    case "disconnect-request":
      return [word.DR, message.worker];
    default:
      return message satisfies never;
  }
}

function writeTaskResult(message: TaskResult, wire: ScalerWire): Buffer[] {
  const { task, status, metadata, results } = message;
  if (isProgram(wire)) return [word.TR, task, letterFrame(status), metadata, ...results];
  return [word.TR, task, letterFrame(status), results[0] ?? none, metadata];
}

export function writeFromClient(message: ClientMessage): Buffer[] {
  switch (message.type) {
    case "client-heartbeat":
      return [word.CB, writeClientHeartbeat(message)];
    case "task":
      return pushTask([word.TK], message);
    case "task-cancel":
      return writeTaskCancel(message, "r");
    case "graph":
      return writeGraph(message);
    case "graph-cancel":
      return [word.GC, message.graph];
    case "object-create":
    case "object-delete":
      return writeObjectInstruction(message, "r");
    case "object-request":
      return [word.OR, letterFrame("A"), ...message.ids];
    case "client-disconnect":
      return writeClientDisconnect(message);
    default:
      return message satisfies never;
  }
}

export function readAtWorker(frames: readonly Buffer[], wire: ScalerWire): Reading<ToWorker> {
  if (frames.length < 2) return refused("no_payload");
  const view = WireFrames.of(frames);
  switch (typeOf(view)) {
    case code.TK:
      return readTask(view, 1, frames.length, false);
    case code.HE:
      return readEcho(frames, { type: "heartbeat-echo" });
    case code.OA:
      return readObjectAnswer(frames);
    case code.TC:
      return readTaskCancel(frames);
    case code.OI: {
      const reading = readObjectInstruction(view, wire);
      if (!reading.ok) return reading;
      return reading.message.type === "object-delete" ? read(reading.message) : refused("bad_kind");
    }
    case code.BQ: {
      if (frames.length !== 2) return refused("frame_count");
      const count = frames[1];
      if (count?.length !== 4) return refused("field_size");
      return read({ type: "balance-request", count: count.readUInt32LE() });
    }
    case code.DP: {
      const worker = frames[1];
      if (frames.length !== 2) return refused("frame_count");
      return isId(worker) ? read({ type: "disconnect-response", worker }) : refused("id_size");
    }
    case code.CS:
      if (frames.length !== 2) return refused("frame_count");
      return letterOf(frames[1]) === "S"
        ? read({ type: "client-disconnect", kind: "shutdown" })
        : refused("bad_kind");
    default:
      return refused("unknown_type");
  }
}

export function readAtClient(frames: readonly Buffer[]): Reading<ToClient> {
  if (frames.length < 2) return refused("no_payload");
  const view = WireFrames.of(frames);
  switch (typeOf(view)) {
    case code.TR:
      return readTaskResult(view, "r");
    case code.OA:
      return readObjectAnswer(frames);
    case code.CE:
      return readEcho(frames, { type: "client-heartbeat-echo" });
    case code.CR: {
      if (frames.length !== 2) return refused("frame_count");
      const letter = frames[1];
      if (letter?.length !== 1) return refused("field_size");
      return read({ type: "shutdown-response", isAccepted: letter[0] !== 0 });
    }
    default:
      return refused("unknown_type");
  }
}

function readEcho<Echo>(frames: readonly Buffer[], echo: Echo): Reading<Echo> {
  if (frames.length !== 2) return refused("frame_count");
  return frames[1]?.length === 0 ? read(echo) : refused("field_size");
}

/** [scaler 5.2] Names and bytes belong to the first ids; there may be fewer of them than ids. */
function readObjectAnswer(frames: readonly Buffer[]): Reading<ObjectAnswer> {
  const letter = letterOf(frames[1]);
  if (letter !== "C" && letter !== "N") return refused("bad_kind");
  const counts = readCounts(WireFrames.of(frames), 2);
  if (!counts.ok) return counts;
  const { ids, names, bytes, first, hasSplitCounts } = counts.message;
  if (names !== bytes || names > ids) return refused("counts_differ");
  return read({
    type: "object-answer",
    kind: letter === "C" ? "content" : "not-found",
    ids: frames.slice(first, first + ids),
    names: frames.slice(first + ids, first + ids + names),
    bytes: frames.slice(first + ids + names),
    hasSplitCounts,
  });
}

function writeGraph({ graph, source, targets, nodes }: GraphMessage): Buffer[] {
  const frames = [word.GT, graph, source, writeU32(targets.length), ...targets];
  for (const node of nodes) {
    frames.push(writeU32(4 + 2 * node.arguments.length));
    pushTask(frames, node);
  }
  return frames;
}
