// What handlers may throw and return: every attempt is answered, so its slot takes the next task.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  ArgumentError,
  Body,
  type Bodylike,
  connect,
  type TaskEndedError,
  type WorkHandler,
  type WorkOptions,
  work,
  type YardClient,
} from "@yardmaster/sdk";
import { waitMs } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const payloadBytes = 100_000;

let yard: ServedYard;
let client: YardClient;
before(async () => {
  const config = { doors: { udp: {}, pulse: {}, scaler: { function: "scaler" } }, limits: { payloadBytes } };
  yard = await serveYard(config);
  client = await connect(yard.url);
});
after(async () => {
  await client.close();
  await yard.stop();
});

const trap = () => {
  throw new Error("trap");
};

const oddities: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["an object without a prototype", Object.create(null)],
  ["a proxy with traps", new Proxy({}, { get: trap, getPrototypeOf: trap, has: trap, ownKeys: trap })],
  ["an error whose message throws", Object.defineProperty(new Error("x"), "message", { get: trap })],
  ["an object whose toString throws", { toString: trap, [Symbol.toPrimitive]: trap }],
  ["undefined", undefined],
  ["null", null],
  ["a symbol", Symbol("s")],
]);

async function refusal(result: Promise<Body>): Promise<TaskEndedError> {
  try {
    await result;
  } catch (fault) {
    return fault as TaskEndedError;
  }
  throw new assert.AssertionError({ message: "the task did not fail" });
}

/** Runs the handler with the oddity as the payload says, and then once more without. */
async function failThenSucceed(url: string, queue: string, options: WorkOptions): Promise<TaskEndedError[]> {
  let runs = 0;
  const thrown = [...oddities.values()];
  const worker = await work(url, options, () => {
    runs += 1;
    if (runs <= thrown.length) throw thrown[runs - 1];
    return "fine";
  });
  const failures: TaskEndedError[] = [];
  for (const _ of thrown) {
    const task = await client.submit({ n: 1 }, { queue, failures: 1, attempts: 1 });
    failures.push(await refusal(client.result(task.id, { waitMs })));
  }
  const last = await client.submit({ n: 1 }, { queue });
  assert.match((await client.result(last.id, { waitMs })).text(), /fine/);
  await worker.stop();
  return failures;
}

describe("a handler that throws something odd fails its attempt, and its slot takes the next task", () => {
  const doors: Record<string, () => { url: string; queue: string; options: WorkOptions }> = {
    http: () => ({ url: yard.url, queue: "odd", options: { queue: "odd" } }),
    udp: () => ({ url: `udp://${yard.doors.udp?.client_address}`, queue: "udp", options: {} }),
    scaler: () => ({ url: `scaler://${yard.doors.scaler?.listen}`, queue: "scaler", options: {} }),
    pulse: () => ({ url: `pulse:${yard.folder}/controller`, queue: "pulse", options: {} }),
  };
  for (const [name, door] of Object.entries(doors)) {
    test(name, async () => {
      const { url, queue, options } = door();
      const failures = await failThenSucceed(url, queue, options);
      for (const { state } of failures) assert.equal(state, "failed");
    });
  }
});

describe("the error of a task says what the handler threw", () => {
  const cases: [string, unknown, RegExp, RegExp?][] = [
    [
      "an error's causes are in the detail",
      new Error("outer", { cause: new Error("inner") }),
      /outer$/,
      /Caused by: Error: inner\n/,
    ],
    [
      "so are the errors of an AggregateError",
      new AggregateError([new Error("one")], "all"),
      /all$/,
      /Error: one\n/,
    ],
    ["an object's message counts", { message: "plain" }, /plain$/],
    ["another object is shown", { status: 503 }, /\{ status: 503 \}$/],
    ["undefined is named", undefined, /the handler threw undefined$/],
  ];
  for (const [name, thrown, message, detail] of cases) {
    test(name, async () => {
      const fault = await failureOf("said", () => {
        throw thrown;
      });
      assert.match(fault.message, message);
      if (detail) assert.match(fault.detail ?? "", detail);
    });
  }

  test("a cause that is its own cause ends", async () => {
    const circular = new Error("round");
    circular.cause = circular;
    const fault = await failureOf("said", () => {
      throw circular;
    });
    assert.match(fault.message, /round$/);
  });
});

describe("a result that the dispatcher refuses fails its attempt, and its slot takes the next task", () => {
  const refused: [string, () => Bodylike, string][] = [
    ["too large", () => Buffer.alloc(payloadBytes + 1), "payload_too_large"],
    ["without a media type", () => new Body(Buffer.from("x"), "nonsense"), "bad_request"],
  ];
  for (const [name, result, code] of refused) {
    test(name, async () => {
      const fault = await failureOf("refused", result);
      assert.deepEqual([fault.state, fault.code], ["failed", code]);
    });
  }

  test("results that are too large together are reported one by one", async () => {
    const results = 8;
    let begun = 0;
    let allBegun: () => void = () => {};
    const everyone = new Promise<void>((resolve) => {
      allBegun = resolve;
    });
    const worker = await work(yard.url, { queue: "together", concurrency: results }, async () => {
      begun += 1;
      if (begun === results) allBegun();
      await everyone;
      return Buffer.alloc(payloadBytes / 2, 255);
    });
    const tasks = await Promise.all(
      Array.from({ length: results }, () => client.submit("x", { queue: "together", attempts: 1 })),
    );
    for (const { id } of tasks)
      assert.equal((await client.result(id, { waitMs })).bytes.length, payloadBytes / 2);
    await worker.stop();
  });
});

/** The task of the handler, and then one that succeeds in the same slot. */
async function failureOf(queue: string, handler: WorkHandler): Promise<TaskEndedError> {
  const worker = await work(yard.url, { queue }, (payload, context) =>
    payload.text() === "odd" ? handler(payload, context) : "fine",
  );
  const odd = await client.submit("odd", { queue });
  const fine = await client.submit("fine", { queue });
  const fault = await refusal(client.result(odd.id, { waitMs }));
  assert.equal((await client.result(fine.id, { waitMs })).text(), "fine");
  await worker.stop();
  return fault;
}

describe("mistakes in the arguments of work and connect are refused at once", () => {
  const refused: [string, () => Promise<unknown>, RegExp][] = [
    [
      "an unknown option of work",
      () => work(yard.url, { queue: "q", concurency: 2 } as never, () => 1),
      /concurency/,
    ],
    ["an unknown option of connect", () => connect(yard.url, { tokn: "x" } as never), /tokn/],
    ["no handler", () => work(yard.url, { queue: "q" }, undefined as never), /handler/],
    ["a negative time", () => work(yard.url, { queue: "q", timeoutMs: -1 }, () => 1), /timeoutMs/],
    ["an unknown parameter of an http URL", () => connect(`${yard.url}?token=x`), /token is not a parameter/],
  ];
  for (const [name, make, message] of refused) {
    test(name, async () => {
      await assert.rejects(make, (fault) => fault instanceof ArgumentError && message.test(fault.message));
    });
  }
  test("an endless grace is no grace of nothing", async () => {
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const worker = await work(yard.url, { queue: "endless" }, async (_, { signal }) => {
      begin();
      await new Promise<void>((resolve) => setTimeout(resolve, 200));
      return signal.aborted ? "cut" : "whole";
    });
    const { id } = await client.submit("x", { queue: "endless" });
    await begun;
    await worker.stop({ graceMs: Number.POSITIVE_INFINITY });
    assert.equal((await client.result(id, { waitMs })).text(), "whole");
  });
});
