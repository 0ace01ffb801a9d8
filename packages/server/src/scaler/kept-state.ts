// The state that the scaler door stored before this start. It is read before the door opens.

import type { Body, TaskHead, TaskId } from "@yardmaster/core";
import { scaler } from "@yardmaster/dialects";
import type { Port } from "../door-kit/door.js";

export interface KeptState {
  readonly memos: ReadonlyMap<string, Uint8Array>;
  /** Sizes of the pieces of objects, by name. They are read on demand. */
  readonly pieces: ReadonlyMap<string, number>;
  /** [scaler 8.2] Tasks that were accepted before this start, with their payloads. */
  readonly openTasks: () => Generator<TaskHead>;
}

export async function readKeptState(port: Port): Promise<KeptState> {
  const payloads = await readPayloads(port);
  const { memos, pieces } = await takeMemos(port);
  return { memos, pieces, openTasks: () => openTasksOf(port, payloads) };
}

/** Reads the payloads that are out of line. */
async function readPayloads(port: Port): Promise<ReadonlyMap<TaskId, Body>> {
  const payloads = new Map<TaskId, Body>();
  const apart = [...port.openTasks()].filter(({ payload }) => payload.bytes === undefined);
  for (const { id } of apart) {
    const payload = await port.reads.body(id, "payload");
    if (payload !== undefined) payloads.set(id, payload);
  }
  return payloads;
}

function* openTasksOf(port: Port, payloads: ReadonlyMap<TaskId, Body>): Generator<TaskHead> {
  for (const head of port.openTasks()) {
    const payload = payloads.get(head.id);
    yield payload === undefined ? head : { ...head, payload };
  }
}

/** All memos except pieces of objects. */
async function takeMemos(port: Port): Promise<Pick<KeptState, "memos" | "pieces">> {
  const memos = new Map(port.takeMemos());
  const pieces = new Map(port.takeLargeMemos());
  for (const name of pieces.keys()) {
    if (scaler.isPieceName(name)) continue;
    const bytes = await port.reads.memo(name);
    pieces.delete(name);
    if (bytes !== undefined) memos.set(name, bytes);
  }
  return { memos, pieces };
}
