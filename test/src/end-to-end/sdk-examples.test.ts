// The examples of docs/sdk.md compile, run against a real dispatcher, and stand in the page as they
// are here.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ArgumentError, connect, TaskEndedError, work, YardError } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { main as defineQueueExample, square } from "./sdk-examples/define-queue.js";
import { main as typedClientExample } from "./sdk-examples/typed-client.js";
import { main as watchExample } from "./sdk-examples/watch-progress.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const root = new URL("../../../", import.meta.url);
const read = (path: string) => readFileSync(fileURLToPath(new URL(path, root)), "utf8");

describe("the SDK's examples", patience, () => {
  let yard: ServedYard;
  before(async () => {
    yard = await serveYard();
  });
  after(async () => {
    assert.equal(await yard.stop(), 0);
  });

  test("they stand in docs/sdk.md", () => {
    const page = read("docs/sdk.md");
    for (const name of ["typed-client", "define-queue", "watch-progress"]) {
      const code = read(`test/src/end-to-end/sdk-examples/${name}.ts`).replace(/^\/\/.*\n\n/, "");
      assert.ok(page.includes(`\`\`\`ts\n${code}\`\`\`\n`), `${name}.ts is not in docs/sdk.md as it is`);
    }
  });

  test("a typed client", async () => {
    assert.equal(await typedClientExample(yard.url), JSON.stringify({ file: "a.png", width: 640 }).length);
  });

  test("a defined queue", async () => {
    assert.equal(await defineQueueExample(yard.url), 144);
  });

  test("a watch", async () => {
    const seen = await watchExample(yard.url);
    assert.equal(seen.at(-1), "done frame 100 of 100");
    assert.ok(seen.length < 20, `${seen.length} changes were told`);
  });

  test("a defined queue refuses what its validators refuse, on both sides", async () => {
    const client = await connect(yard.url);
    await assert.rejects(
      square.submit(client, { n: 1.5 }),
      (fault) => fault instanceof ArgumentError && /payload is not one of queue square/.test(fault.message),
    );
    const worker = await square.work(yard.url, {}, ({ n }) => (n === 7 ? ("seven" as never) : n));
    const foreign = await client.submit({ n: "x" }, { queue: "square" });
    await assert.rejects(
      client.result(foreign),
      (fault) => fault instanceof TaskEndedError && fault.code === "bad_payload",
    );
    await assert.rejects(
      square.call(client, { n: 7 }),
      (fault) => fault instanceof TaskEndedError && fault.code === "bad_result",
    );
    await worker.stop();
    // A worker of another kind answers with something else.
    const other = await work(yard.url, { queue: "square" }, () => "twelve");
    await assert.rejects(
      square.call(client, { n: 12 }),
      (fault) => fault instanceof YardError && fault.code === "bad_result",
    );
    await other.stop();
    await client.close();
  });

  test("what cannot be sent is a typed error", async () => {
    const client = await connect(yard.url);
    const ring: { self?: object } = {};
    ring.self = ring;
    for (const payload of [ring, { n: 1n }, () => 1]) {
      await assert.rejects(
        client.submit(payload, { queue: "q" }),
        (fault) => fault instanceof ArgumentError && /cannot be sent as a body/.test(fault.message),
      );
    }
    const after = "17" as unknown as string[];
    const isTyped = (fault: unknown) =>
      fault instanceof ArgumentError && /after: expected a list of ids/.test(fault.message);
    await assert.rejects(client.submit("x", { queue: "q", after }), isTyped);
    await assert.rejects(client.submitMany([{ payload: "x", queue: "q", after }]).next(), isTyped);
    await assert.rejects(client.submitGraph([{ payload: "x", name: "n", queue: "q", after }]), isTyped);
    await client.close();
  });

  test("a time that makes no sense is a typed error, everywhere", async () => {
    const client = await connect(yard.url);
    for (const [name, found] of [
      ["delayMs", -1],
      ["timeoutMs", Number.NaN],
      ["expiresMs", Number.POSITIVE_INFINITY],
    ] as const) {
      const options = { queue: "q", [name]: found };
      const isTyped = (fault: unknown) =>
        fault instanceof ArgumentError &&
        fault.message === `${name}: found ${found}, expected milliseconds from 0`;
      await assert.rejects(client.submit("x", options), isTyped);
      await assert.rejects(client.call("x", options), isTyped);
      await assert.rejects(client.submitMany([{ payload: "x", ...options }]).next(), isTyped);
      await assert.rejects(client.submitGraph([{ payload: "x", name: "n", ...options }]), isTyped);
    }
    await client.close();
  });

  test("an unknown option of a wait is a typed error: it would wait for ever", async () => {
    const client = await connect(yard.url);
    const { id } = await client.submit("x", { queue: "q" });
    const isTyped = (fault: unknown) =>
      fault instanceof ArgumentError && /timeoutMs is not an option of \w+; known: /.test(fault.message);
    const options = { timeoutMs: 10 } as object;
    await assert.rejects(client.result(id, options), isTyped);
    await assert.rejects(client.watch(id, options).next(), isTyped);
    await assert.rejects(client.actionEnd("1", options), isTyped);
    await client.close();
  });

  test("an unknown option of a submission is a typed error, everywhere", async () => {
    const client = await connect(yard.url);
    const options = { queue: "q", priorty: 5 } as { queue: string };
    const isTyped = (fault: unknown) =>
      fault instanceof ArgumentError &&
      /priorty is not an option of a submission; known: .*priority/.test(fault.message);
    await assert.rejects(client.submit("x", options), isTyped);
    await assert.rejects(client.call("x", options), isTyped);
    await assert.rejects(client.submitMany([{ payload: "x", ...options }]).next(), isTyped);
    await assert.rejects(client.submitGraph([{ payload: "x", name: "n", ...options }]), isTyped);
    await assert.rejects(
      async () => work(yard.url, { queue: "a", queues: ["b"] }, () => ""),
      (fault) => fault instanceof ArgumentError,
    );
    await client.close();
  });
});
