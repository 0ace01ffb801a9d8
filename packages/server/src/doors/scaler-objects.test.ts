// Objects at the scaler door, exactly as the document says: the serializer's other id, results that
// were never created, and objects that are too large.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, describe, test } from "node:test";
import { until } from "../testing/memory-runtime.js";
import { ScalerYard, type ScalerYardOptions } from "../testing/scaler-yard.js";

let yard: ScalerYard | undefined;
const limit = { timeout: 30_000 };

async function openYard(options: ScalerYardOptions = {}): Promise<ScalerYard> {
  yard = await new ScalerYard(options).open();
  return yard;
}

afterEach(() => yard?.close());

const md5 = (text: string) => createHash("md5").update(text).digest();
/** The id under which a form-r client stores its serializer, and the id that the document gives. */
const storedId = Buffer.concat([md5("c").subarray(0, 8), md5("serializer")]);
const documentId = md5("cserializer");

describe("a client's serializer", limit, () => {
  for (const order of ["before", "after"] as const) {
    test(`is found under the document's id, stored ${order} it is asked for`, async () => {
      const open = await openYard();
      const client = await open.client("c");
      const worker = await open.worker("w", "d");
      const store = () =>
        client.say({
          ...{
            type: "object-create",
            source: client.id,
            ids: [storedId],
            names: [Buffer.from("serializer")],
          },
          ...{ bytes: [Buffer.from("pickled")], hasSplitCounts: false },
        });
      if (order === "before") {
        store();
        await until(() => open.door.objects.size === 1 || undefined);
      }
      worker.say({ type: "object-request", ids: [documentId] });
      if (order === "after") {
        worker.beat();
        await worker.next("heartbeat-echo");
        store();
      }
      const { ids, bytes } = await worker.next("object-answer");
      assert.deepEqual([String(ids), String(bytes)], [String(documentId), "pickled"]);
    });
  }
});

describe("a result that was not created", limit, () => {
  for (const wire of ["r", "d"] as const) {
    test(`fails the attempt, and the client is told why (${wire})`, async () => {
      const open = await openYard();
      const client = await open.client("c");
      const worker = await open.worker("w", wire);
      client.task("t");
      worker.result(await worker.nextTask(), "S", "nothing");
      const { status, results } = await client.next("task-result");
      assert.equal(status, "F");
      assert.match(String(await client.fetch(results[0] as Buffer)), /had not created/);
      assert.equal(open.door.faults.count("missing_result"), 1);
      assert.equal((await open.task(1)).progress?.error?.code, "missing_result");
    });
  }
});

test("an object that is too large is refused, and the task that needs it says so", limit, async () => {
  const open = await openYard({
    payloadBytesMax: 1_000,
    config: { largestObjectBytes: 2_000, objectBytes: 100_000 },
  });
  const client = await open.client("c");
  client.create({ f: Buffer.alloc(1_500, "f"), a: Buffer.alloc(2_001, "a") });
  client.task("t", { args: ["a"] });
  const { status, results } = await client.next("task-result");
  assert.equal(status, "F");
  assert.match(String(await client.fetch(results[0] as Buffer)), /has 2001 bytes.*largestObjectBytes/);
  assert.equal(open.door.faults.count("object_limit"), 1);
  // An object that is larger than a payload but within the object limit is accepted.
  client.task("u");
  const worker = await open.worker("w");
  assert.equal(await worker.work(), "u");
  assert.equal(await client.told(), "u S r-u");
});

test("an object of the largest size arrives, although it is more than payloads may have", limit, async () => {
  const bytes = 16_000_000;
  const open = await openYard({
    payloadBytesMax: 1_000,
    config: { largestObjectBytes: bytes, objectBytes: 2 * bytes },
  });
  const client = await open.client("c");
  client.create({ f: Buffer.from("f"), a: Buffer.alloc(bytes, "a") });
  client.task("t", { args: ["a"] });
  const worker = await open.worker("w");
  assert.equal(await worker.work(), "t");
  assert.equal(await client.told(), "t S r-t");
  assert.equal(open.door.faults.count("assembly_full"), 0);
});

test(
  "of objects that together are too large for a message, the last is refused in words",
  limit,
  async () => {
    const bytes = 30_000_000;
    const open = await openYard({
      payloadBytesMax: 1_000,
      config: { largestObjectBytes: bytes, objectBytes: 4 * bytes },
    });
    const client = await open.client("c");
    client.create({ f: Buffer.alloc(bytes, "f"), a: Buffer.alloc(bytes - 1_000_000, "a") });
    // The client's own queue is full until the door has read the message.
    const { faults } = open.door;
    await until(() => faults.count("object_limit") + faults.count("assembly_full") || undefined);
    assert.equal(faults.count("assembly_full"), 0);
    client.task("t", { args: ["a"] });
    const { status, results } = await client.next("task-result");
    assert.equal(status, "F");
    assert.match(String(await client.fetch(results[0] as Buffer)), /came in a message that is too large/);
    client.create({ a: Buffer.alloc(bytes, "a") });
    await until(() => open.door.objects.bytes > 2 * bytes || undefined);
    client.task("u", { args: ["a"] });
    const worker = await open.worker("w");
    assert.equal(await worker.work(), "u");
    assert.equal(await client.told(), "u S r-u");
  },
);
