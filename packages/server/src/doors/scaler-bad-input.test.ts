// Any message, in any order, from any peer: at most a counter rises, and the next peer is served.
// Every vector, damaged in every way, is sent by workers, clients and unknown peers.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import fc from "fast-check";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { type ScalerPeer, ScalerYard, type TestClient, type TestWorker } from "../testing/scaler-yard.js";

const file = new URL("../../../dialects/src/scaler/vectors/scaler.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as { name: string; frames: string[] }[];

let yard: ScalerYard;
let client: TestClient;
let worker: TestWorker;
let count = 0;

before(async () => {
  yard = await new ScalerYard().open();
  client = await yard.client("honest client");
  worker = await yard.worker("honest worker");
});
after(() => yard.close());

/** An honest client and an honest worker can still complete a task. */
async function serves(): Promise<void> {
  count += 1;
  const task = `honest-${count}`;
  client.task(task);
  for (;;) {
    const { task: given, source } = await worker.next("task");
    if (String(given) === task) break;
    worker.create(source, { done: "x" });
    worker.result(given, "S", "done");
  }
  worker.create(client.id, { [`r-${count}`]: "x" });
  worker.result(task, "S", `r-${count}`);
  assert.equal(await client.told(), `${task} S r-${count}`);
  client.remove(`r-${count}`);
}

function* damaged(frames: readonly Buffer[]): Generator<Buffer[]> {
  for (let at = 0; at < frames.length; at++) {
    const frame = frames[at] as Buffer;
    if (frames.length > 1) yield frames.toSpliced(at, 1);
    yield frames.toSpliced(at, 0, frame);
    if (at > 0) yield frames.slice(0, at);
    yield frames.with(at, frame.subarray(0, frame.length >> 1));
    yield frames.with(at, Buffer.concat([frame, frame]));
    yield frames.with(at, Buffer.alloc(frame.length, 0xff));
    yield frames.with(at, Buffer.alloc(0));
    yield frames.with(at, Buffer.alloc(256));
    if (at > 0) yield [...frames.slice(0, at), ...frames.slice(at).reverse()];
  }
}

async function strangers(): Promise<ScalerPeer[]> {
  return [
    (await yard.worker(`worker ${count}`)).peer,
    (await yard.worker(`document ${count}`, "d")).peer,
    (await yard.client(`client ${count}`)).peer,
    await yard.peer(`nobody ${count}`),
  ];
}

/**
 * Called when all their messages were sent: an unknown peer may count as a worker that never works.
 */
async function dismiss(peers: readonly ScalerPeer[]): Promise<void> {
  await Promise.all(peers.map(({ socket }) => socket.close({ lingerMs: 5_000 })));
}

describe("bad input", patience, () => {
  for (const vector of vectors) {
    test(`${vector.name}, damaged`, async () => {
      const frames = vector.frames.map((hex) => Buffer.from(hex, "hex"));
      const peers = await strangers();
      for (const peer of peers) for (const message of damaged(frames)) peer.socket.send(message);
      await dismiss(peers);
      await serves();
    });
  }

  test("anything at all", async () => {
    const types = "HB TK TC TR OI OR BR DR CS CB GT GC".split(" ");
    const frame = fc.oneof(
      fc.constantFrom(..."CDSARTF").map((letter) => Buffer.from(letter)),
      fc.constantFrom("a", "b", "honest-1", "honest client").map((word) => Buffer.from(word)),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.nat({ max: 3 }).map((value) => Buffer.from(Uint32Array.of(value).buffer)),
      fc.nat({ max: 2 }).map((value) => Buffer.from(Uint32Array.of(value, value, value).buffer)),
    );
    const messages = fc.array(fc.tuple(fc.constantFrom(...types), fc.array(frame, { maxLength: 8 })), {
      minLength: 1,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(messages, fc.nat({ max: 3 }), async (said, who) => {
        const peers = await strangers();
        for (const [type, rest] of said) peers[who]?.socket.send([Buffer.from(type), ...rest]);
        await dismiss(peers);
        await serves();
      }),
      { numRuns: 60 },
    );
  });

  test("a client that submits a great many tasks and dies leaves nothing", async () => {
    const flood = new ScalerYard();
    await flood.open();
    try {
      const dying = await flood.client("dying");
      dying.create({ f: "function" });
      const tasks = 20_000;
      for (let index = 0; index < tasks; index++) dying.task(`t${index}`);
      dying.say({ type: "client-disconnect", kind: "disconnect" });
      const waiting = async () =>
        (await flood.port.reads.queues()).reduce((sum, queue) => sum + queue.waiting, 0);
      await until(async () => ((await flood.port.reads.task(tasks as TaskId)) ? true : undefined));
      await until(async () => ((await waiting()) === 0 ? true : undefined));
      await until(() => (flood.door.objects.size === 0 ? true : undefined));
      const other = await flood.client("other");
      other.task("t1");
      const fresh = await flood.worker("fresh");
      await fresh.work();
      assert.equal(await other.told(), "t1 S r-t1");
    } finally {
      await flood.close();
    }
  });

  test("a queue at its limit says so in the dialect's word", async () => {
    const full = new ScalerYard({ queues: { scaler: { maxWaiting: 1 } } });
    await full.open();
    try {
      const asker = await full.client("asker");
      for (const id of ["a", "b"]) asker.task(id);
      assert.equal(await asker.told(), "b W");
    } finally {
      await full.close();
    }
  });
});
