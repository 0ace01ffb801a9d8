// Reads a graph of tasks, and says in words why a task or a graph is too large to be read.

import type { WireFrames } from "../wire-frames.js";
import { areIdsIn, isIdIn, read, refused } from "./frames.js";
import type { GraphMessage, OversizedRequest, Reading, TaskMessage } from "./messages.js";
import { readTask } from "./task-codec.js";

/**
 * [scaler 1.9] Frames of any message but those that create or delete objects. Such a message is
 * carried out in one turn: a graph of this many small frames takes 150 ms.
 */
export const messageFramesMax = 100_000;
/** [scaler 6.8] Maximum size of one task of a graph, as for one item of a batch over http. */
export const nodeBytesMax = 65_536;

/** [scaler 1.9] A task or a graph with too many frames, of which only the id is read. */
export function readOversized(frames: WireFrames, what: "task" | "graph"): Reading<OversizedRequest> {
  if (!isIdIn(frames, 1)) return refused("id_size");
  const reason = `The ${what} has ${frames.count} frames, more than ${messageFramesMax}; none of it was run.`;
  return read({ type: "oversized-request", id: frames.keep(1), reason });
}

/** [scaler 6.1] A graph is kept while it runs, so what it refers to is copied. */
export function readGraph(frames: WireFrames): Reading<GraphMessage | OversizedRequest> {
  return readNodes(frames, nodeBytesMax);
}

/** A graph restored from the store was accepted before and has no limit. */
export function readStoredGraph(frames: WireFrames): GraphMessage | undefined {
  const reading = readNodes(frames, Number.POSITIVE_INFINITY);
  return reading.ok && reading.message.type === "graph" ? reading.message : undefined;
}

function readNodes(frames: WireFrames, bytesMax: number): Reading<GraphMessage | OversizedRequest> {
  if (frames.count < 4) return refused("frame_count");
  if (!isIdIn(frames, 1) || !isIdIn(frames, 2)) return refused("id_size");
  const targets = countIn(frames, 3);
  if (targets === undefined) return refused("field_size");
  let at = 4 + targets;
  if (at > frames.count) return refused("counts_differ");
  if (!areIdsIn(frames, 4, at)) return refused("id_size");
  const nodes: TaskMessage[] = [];
  while (at < frames.count) {
    const count = countIn(frames, at);
    if (count === undefined) return refused("field_size");
    const end = at + 1 + count;
    if (end > frames.count) return refused("counts_differ");
    if (sizeOf(frames, at, end) > bytesMax) return read(tooLargeNode(frames));
    const node = readTask(frames, at + 1, end, true);
    if (!node.ok) return node;
    nodes.push(node.message);
    at = end;
  }
  const [graph, source] = [frames.keep(1), frames.keep(2)];
  const kept = Array.from({ length: targets }, (_, index) => frames.keep(4 + index));
  return read({ type: "graph", graph, source, targets: kept, nodes });
}

function tooLargeNode(frames: WireFrames): OversizedRequest {
  const reason = `The graph has a task of more than ${nodeBytesMax} bytes of names; none of it was run.`;
  return { type: "oversized-request", id: frames.keep(1), reason };
}

/** A number of frames; undefined if the frame has another size. */
function countIn(frames: WireFrames, frame: number): number | undefined {
  if (frames.lengthOf(frame) !== 4) return undefined;
  return frames.bufferOf(frame).readUInt32LE(frames.startOf(frame));
}

function sizeOf(frames: WireFrames, from: number, to: number): number {
  let bytes = 0;
  for (let frame = from; frame < to; frame += 1) bytes += frames.lengthOf(frame);
  return bytes;
}
