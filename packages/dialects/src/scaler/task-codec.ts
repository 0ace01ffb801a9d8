// Reads the two messages of every task: TK and TR. The door writes them from their packed form.

import type { WireFrames } from "../wire-frames.js";
import { areIds, isIdIn, isProgram, letterIn, none, read, refused, statusOf } from "./frames.js";
import type { Reading, ScalerWire, TaskResult } from "./messages.js";
import { PackedResult, PackedTask } from "./packed-messages.js";
import { resultMetadataBytes, taskMetadataBytes } from "./structs.js";

/**
 * [scaler 2.1] Reads the frames of a task in the range from `from` to `to`. Only tasks of a graph
 * may refer to another task's result (`T`).
 */
export function readTask(frames: WireFrames, from: number, to: number, isNode: boolean): Reading<PackedTask> {
  if (to - from < 4 || (to - from) % 2 !== 0) return refused("frame_count");
  if (!isIdIn(frames, from) || !isIdIn(frames, from + 1) || !isIdIn(frames, from + 3))
    return refused("id_size");
  const metadataBytes = frames.lengthOf(from + 2);
  if (metadataBytes !== 0 && metadataBytes !== taskMetadataBytes) return refused("field_size");
  for (let at = from + 4; at < to; at += 2) {
    const kind = letterIn(frames, at);
    if (kind !== "R" && (kind !== "T" || !isNode)) return refused("bad_kind");
    if (!isIdIn(frames, at + 1)) return refused("id_size");
  }
  return read(PackedTask.in(frames, from, to));
}

/**
 * [scaler 2.3] The two forms order the last two fields differently, and form r allows any number of
 * results.
 */
export function readTaskResult(frames: WireFrames, wire: ScalerWire): Reading<TaskResult> {
  const { count } = frames;
  const isR = isProgram(wire);
  if (isR ? count < 4 : count !== 5) return refused("frame_count");
  const status = statusOf(letterIn(frames, 2));
  if (!isIdIn(frames, 1)) return refused("id_size");
  if (status === undefined) return refused("bad_status");
  if (!isR) return readDocumentResult(frames.own(), status);
  const metadataBytes = frames.lengthOf(3);
  if (metadataBytes !== 0 && metadataBytes !== resultMetadataBytes) return refused("field_size");
  for (let at = 4; at < count; at++) if (!isIdIn(frames, at)) return refused("id_size");
  return read(PackedResult.in(frames));
}

/** The document does not define the content of the metadata, so it may have any size. */
function readDocumentResult(frames: readonly Buffer[], status: TaskResult["status"]): Reading<TaskResult> {
  const [, task = none, , result = none, metadata = none] = frames;
  const results = result.length > 0 ? [result] : [];
  return areIds(results)
    ? read({ type: "task-result", task, status, metadata, results })
    : refused("id_size");
}
