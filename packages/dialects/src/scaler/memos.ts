// What the door needs after a restart: objects, graphs, and the outcomes of graph nodes. A memo is
// a MessagePack array of binary values. A large object's bytes are split into further memos, so
// that every memo has a bounded size.

import type { YardEvent } from "@yardmaster/core";
import { bytesOf } from "../body.js";
import { arrayOfParts, partsOfArray } from "../parts.js";
import { WireFrames } from "../wire-frames.js";
import { letterFrame, letterOf, none, statusOf } from "./frames.js";
import { readStoredGraph } from "./graph-codec.js";
import type { GraphMessage, TaskResult } from "./messages.js";
import { writeFromClient } from "./peer-codec.js";
import type { ScalerObject } from "./scaler-object.js";
import { isPieceName, nameOf, pieceName, piecesOf, type StoredPlace, u32 } from "./stored-bytes.js";

type MemoWritten = Extract<YardEvent, { type: "memo-written" }>;

export interface StoredObject {
  readonly id: Buffer;
  readonly name: Buffer;
  /** The object's bytes, or their location in the engine. */
  readonly content: Buffer | StoredPlace;
  readonly owners: readonly string[];
}

export interface StoredNode {
  readonly graph: Buffer;
  readonly result: TaskResult;
}

export interface StoredState {
  readonly objects: readonly StoredObject[];
  readonly graphs: readonly GraphMessage[];
  readonly nodes: readonly StoredNode[];
  /** Names of memos that belong to objects that were never stored completely. */
  readonly rubbish: readonly string[];
}

/**
 * The memo of an object: the whole object, or, if its bytes are in other memos, their number and
 * digest.
 */
export function objectWritten(object: ScalerObject): MemoWritten {
  const { id, name, place } = object;
  return written(nameOf("o", id), [
    id,
    name,
    place?.digest ?? object.bytes ?? none,
    u32(place === undefined ? 0 : piecesOf(place.size)),
    ...[...object.owners()].map((owner) => Buffer.from(owner)),
  ]);
}

export function pieceWritten(id: Buffer, piece: number, bytes: Buffer): MemoWritten {
  return { type: "memo-written", name: pieceName(id, piece), bytes };
}

/**
 * `hasPieces` is true if some of its bytes may already be in other memos although it is not stored
 * yet.
 */
export function objectDropped({ id, place, size }: ScalerObject, hasPieces: boolean): YardEvent[] {
  const posts: YardEvent[] = [{ type: "memo-dropped", name: nameOf("o", id) }];
  const pieces = place !== undefined || hasPieces ? piecesOf(size) : 0;
  for (let piece = 0; piece < pieces; piece++)
    posts.push({ type: "memo-dropped", name: pieceName(id, piece) });
  return posts;
}

export function graphWritten(graph: GraphMessage): YardEvent {
  return written(nameOf("g", graph.graph), writeFromClient(graph));
}

export function graphDropped(graph: Buffer): YardEvent {
  return { type: "memo-dropped", name: nameOf("g", graph) };
}

export function nodeWritten(graph: Buffer, { task, status, metadata, results }: TaskResult): MemoWritten {
  return written(nameOf("n", graph, task), [graph, task, letterFrame(status), metadata, ...results]);
}

export function nodeDropped(graph: Buffer, task: Buffer): YardEvent {
  return { type: "memo-dropped", name: nameOf("n", graph, task) };
}

/**
 * Reads all memos. A memo that cannot be read or is incomplete is skipped, because this program
 * never writes such memos. `large` has the sizes of memos that were not loaded.
 */
export function readMemos(
  memos: ReadonlyMap<string, Uint8Array>,
  large: ReadonlyMap<string, number>,
): StoredState {
  const objects: StoredObject[] = [];
  const graphs: GraphMessage[] = [];
  const nodes: StoredNode[] = [];
  const pieces = new Set([...memos.keys(), ...large.keys()].filter(isPieceName));
  const takePiece = (name: string): number | undefined =>
    pieces.delete(name) ? (large.get(name) ?? memos.get(name)?.length) : undefined;
  for (const [name, bytes] of memos) {
    if (isPieceName(name)) continue;
    const parts = partsOfArray(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (parts === undefined) continue;
    if (name.startsWith("o.")) pushIfThere(objects, readObject(parts, takePiece));
    else if (name.startsWith("g.")) pushIfThere(graphs, graphIn(parts));
    else if (name.startsWith("n.")) pushIfThere(nodes, readNode(parts));
  }
  return { objects, graphs, nodes, rubbish: [...pieces] };
}

function readObject(
  parts: readonly Buffer[],
  takePiece: (name: string) => number | undefined,
): StoredObject | undefined {
  const [id, name, inline, count, ...owners] = parts;
  if (id === undefined || name === undefined || inline === undefined || count?.length !== 4) return undefined;
  const pieces = count.readUInt32LE();
  let size = 0;
  for (let piece = 0; piece < pieces; piece++) {
    const length = takePiece(pieceName(id, piece));
    if (length === undefined) return undefined;
    size += length;
  }
  const content = pieces === 0 ? inline : { size, digest: inline, isGone: false };
  return { id, name, content, owners: owners.map(String) };
}

function graphIn(frames: readonly Buffer[]): GraphMessage | undefined {
  return readStoredGraph(WireFrames.of(frames));
}

function readNode([graph, task, letter, metadata, ...results]: readonly Buffer[]): StoredNode | undefined {
  const status = statusOf(letterOf(letter));
  if (graph === undefined || task === undefined || metadata === undefined || status === undefined)
    return undefined;
  return { graph, result: { type: "task-result", task, status, metadata, results } };
}

function written(name: string, parts: readonly Buffer[]): MemoWritten {
  return { type: "memo-written", name, bytes: bytesOf(arrayOfParts(parts)) };
}

function pushIfThere<Value>(list: Value[], value: Value | undefined): void {
  if (value !== undefined) list.push(value);
}
