import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readAddress, type YardAddress } from "./address.js";
import { AnsweringClient } from "./answering-client.js";
import { Body } from "./body.js";
import { dialectTable } from "./dialects.js";

const address: YardAddress = readAddress("udp://h:1", dialectTable);
const keptMax = 10;
const answer = new Body(Buffer.from("answer"));

function clientOf(outcome: () => Promise<Body>): AnsweringClient {
  return new AnsweringClient(
    {
      name: "test",
      acknowledges: false,
      knows: new Set(),
      ask: () => ({ taken: Promise.resolve(), outcome: outcome() }),
      close: async () => {},
    },
    address,
    keptMax,
  );
}

describe("a client that knows a task by its answer", () => {
  test("keeps the last outcomes that nobody asked for, and lets go of the oldest", async () => {
    const client = clientOf(() => Promise.resolve(answer));
    const { id: first } = await client.submit("x");
    const { id: second } = await client.submit("x");
    for (let number = 0; number < keptMax - 1; number += 1) await client.submit("x");
    await assert.rejects(
      client.result(first),
      /cannot ask for task test-1, which this client did not submit/,
    );
    assert.equal((await client.result(second)).text(), "answer");
    await assert.rejects(client.result(second), { code: "unsupported" });
  });

  test("refuses more than it can keep while none is over", async () => {
    const client = clientOf(() => new Promise(() => {}));
    for (let number = 0; number < keptMax; number += 1) await client.submit("x");
    await assert.rejects(client.submit("x"), { code: "queue_full" });
  });

  test("stops waiting when told to, and can be asked again", async () => {
    let tell: (body: Body) => void = () => {};
    const client = clientOf(
      () =>
        new Promise((resolve) => {
          tell = resolve;
        }),
    );
    const submitted = await client.submit("x");
    await assert.rejects(client.result(submitted, { waitMs: 1 }), { code: "still_open" });
    await assert.rejects(
      client.result(submitted, { signal: AbortSignal.abort("enough") }),
      (reason) => reason === "enough",
    );
    await assert.rejects(client.result(submitted, { timeoutMs: 1 } as object), {
      code: "bad_argument",
      message: "timeoutMs is not an option of result; known: signal, waitMs",
    });
    tell(answer);
    assert.equal((await client.result(submitted, { waitMs: 1_000 })).text(), "answer");
  });
});
