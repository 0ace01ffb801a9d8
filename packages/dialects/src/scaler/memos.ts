// What the door finds again after a restart: objects, graphs, and how the nodes of a graph ended. A memo is a MessagePack
// array of bin; an object's bytes beyond the first piece are memos of their own, so that each is of bounded size.

import { createHash } from "node:crypto";
import type { YardEvent } from "@yardmaster/core";
import { bytesOf } from "../body.js";
import { arrayOfParts, partsOfArray } from "../parts.js";
import { readFromPeer } from "./codec.js";
import { letterFrame, statusOf } from "./frames.js";
import type { GraphMessage, TaskResult } from "./messages.js";
import { writeFromClient } from "./peer-codec.js";
import type { ScalerObject } from "./scaler-object.js";

/** [scaler 8.3] Of one memo. */
const pieceBytesMax = 1024 * 1024;
/** What fits a memo's name as it is; longer ids are told by their digest. */
const namedBytesMax = 72;

type MemoWritten = Extract<YardEvent, { type: "memo-written" }>;

export interface StoredObject {
  readonly id: Buffer;
  readonly name: Buffer;
  readonly bytes: Buffer;
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
}

/** Posts that write an object down. `isNew`: its content too, and not only its owners. */
export function objectWritten(object: ScalerObject, isNew: boolean): YardEvent[] {
  const { id, content } = object;
  if (content === undefined) return [];
  const { name, bytes } = content;
  const pieces = piecesOf(bytes);
  const isApart = pieces > 0;
  const head = [
    id,
    name,
    isApart ? Buffer.alloc(0) : bytes,
    u32(pieces),
    ...[...object.owners()].map((owner) => Buffer.from(owner)),
  ];
  const posts: YardEvent[] = [written(nameOf("o", id), head)];
  if (!isNew) return posts;
  for (let piece = 0; piece < pieces; piece++) {
    const part = bytes.subarray(piece * pieceBytesMax, (piece + 1) * pieceBytesMax);
    posts.push({ type: "memo-written", name: pieceName(id, piece), bytes: part });
  }
  return posts;
}

export function objectDropped({ id, bytes }: ScalerObject): YardEvent[] {
  const posts: YardEvent[] = [{ type: "memo-dropped", name: nameOf("o", id) }];
  const pieces = bytes === undefined ? 0 : piecesOf(bytes);
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

/** Reads all there is. What cannot be read, or is not whole, is left out: it was never written so by us. */
export function readMemos(memos: ReadonlyMap<string, Uint8Array>): StoredState {
  const objects: StoredObject[] = [];
  const graphs: GraphMessage[] = [];
  const nodes: StoredNode[] = [];
  for (const [name, bytes] of memos) {
    if (name.startsWith("p.")) continue;
    const parts = partsOfArray(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (parts === undefined) continue;
    if (name.startsWith("o.")) pushIfThere(objects, readObject(parts, memos));
    else if (name.startsWith("g.")) pushIfThere(graphs, readGraph(parts));
    else if (name.startsWith("n.")) pushIfThere(nodes, readNode(parts));
  }
  return { objects, graphs, nodes };
}

function readObject(
  parts: readonly Buffer[],
  memos: ReadonlyMap<string, Uint8Array>,
): StoredObject | undefined {
  const [id, name, inline, pieces, ...owners] = parts;
  if (id === undefined || name === undefined || inline === undefined || pieces?.length !== 4)
    return undefined;
  const bytes = pieces.readUInt32LE() === 0 ? inline : joined(id, pieces.readUInt32LE(), memos);
  return bytes && { id, name, bytes, owners: owners.map(String) };
}

function joined(id: Buffer, pieces: number, memos: ReadonlyMap<string, Uint8Array>): Buffer | undefined {
  const found: Uint8Array[] = [];
  for (let piece = 0; piece < pieces; piece++) {
    const bytes = memos.get(pieceName(id, piece));
    if (bytes === undefined) return undefined;
    found.push(bytes);
  }
  return Buffer.concat(found);
}

function readGraph(frames: readonly Buffer[]): GraphMessage | undefined {
  const reading = readFromPeer(frames, "r");
  return reading.ok && reading.message.type === "graph" ? reading.message : undefined;
}

function readNode([graph, task, letter, metadata, ...results]: readonly Buffer[]): StoredNode | undefined {
  const status = statusOf(letter);
  if (graph === undefined || task === undefined || metadata === undefined || status === undefined)
    return undefined;
  return { graph, result: { type: "task-result", task, status, metadata, results } };
}

function written(name: string, parts: readonly Buffer[]): MemoWritten {
  return { type: "memo-written", name, bytes: bytesOf(arrayOfParts(parts)) };
}

function piecesOf(bytes: Buffer): number {
  return bytes.length <= pieceBytesMax ? 0 : Math.ceil(bytes.length / pieceBytesMax);
}

function pieceName(id: Buffer, piece: number): string {
  return `${nameOf("p", id)}.${piece}`;
}

function nameOf(kind: "o" | "p" | "g" | "n", ...ids: Buffer[]): string {
  const bytes = ids.reduce((sum, id) => sum + id.length, 0);
  if (bytes <= namedBytesMax) return `${kind}.${ids.map((id) => id.toString("hex")).join(".")}`;
  const digest = createHash("sha256");
  for (const id of ids) digest.update(u32(id.length)).update(id);
  return `${kind}.${digest.digest("hex")}`;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function pushIfThere<Value>(list: Value[], value: Value | undefined): void {
  if (value !== undefined) list.push(value);
}
