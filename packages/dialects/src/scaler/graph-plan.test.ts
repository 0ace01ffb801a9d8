// Messages that are too large to be read in one turn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { WireFrames } from "../wire-frames.js";
import { readFromPeer } from "./codec.js";
import { readStoredGraph } from "./graph-codec.js";
import { planGraph } from "./graph-plan.js";

function graphFrames(nodes: number, ids: readonly string[] = []): Buffer[] {
  const count = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
  const frames = [...["GT", "graph", "client"].map((text) => Buffer.from(text)), count(0)];
  const names = ["client", "", "function", ...ids.flatMap((id) => ["R", id])];
  for (let node = 0; node < nodes; node += 1)
    frames.push(count(names.length + 1), ...[`node-${node}`, ...names].map((text) => Buffer.from(text)));
  return frames;
}

function reasonOf(frames: readonly Buffer[]): string {
  const reading = readFromPeer(WireFrames.of(frames), "r");
  assert.ok(reading.ok);
  if (reading.message.type === "oversized-request") {
    assert.equal(String(reading.message.id), "graph");
    return reading.message.reason;
  }
  assert.ok(reading.message.type === "graph");
  const plan = planGraph(reading.message);
  return plan.ok ? `${plan.nodes.size} nodes` : plan.reason;
}

test("a graph of too many frames is refused in words, and nothing of it is read", () => {
  assert.equal(reasonOf(graphFrames(19_000)), "19000 nodes");
  assert.match(reasonOf(graphFrames(20_000)), /has 100004 frames, more than 100000; none of it was run/);
});

test("a task of too many frames is refused in words, other messages are dropped", () => {
  const many = (...first: string[]) =>
    WireFrames.of([...first, ...new Array<string>(100_000).fill("id")].map((text) => Buffer.from(text)));
  const task = readFromPeer(many("TK", "task", "client", "", "f"), "r");
  assert.ok(task.ok && task.message.type === "oversized-request");
  assert.equal(String(task.message.id), "task");
  assert.match(task.message.reason, /^The task has 100005 frames, more than 100000; none of it was run/);
  for (const type of ["OR", "BR", "TR", "HB", "ZZ"])
    assert.deepEqual(readFromPeer(many(type, "A"), "r"), { ok: false, fault: "frame_count" });
});

test("a graph with a task of too many bytes is refused in words", () => {
  const ids = Array.from({ length: 100 }, (_, index) => String(index).padStart(250, "x"));
  assert.equal(reasonOf(graphFrames(2, ids)), "2 nodes");
  assert.match(reasonOf(graphFrames(2, [...ids, ...ids, ...ids])), /a task of more than 65536 bytes/);
});

test("a graph that was accepted before is read whatever its size", () => {
  const graph = readStoredGraph(WireFrames.of(graphFrames(20_000)));
  assert.equal(graph?.nodes.length, 20_000);
});
