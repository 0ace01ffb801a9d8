import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { answerBatch } from "./batch.js";
import { Bodies } from "./bodies.js";
import { HeldBody } from "./held-body.js";
import { problemOf } from "./problems.js";

const kB = 1_000;

/** Room for 1,000 kB, of which large bodies may take 875. */
class Receiving {
  nowMs = 0;
  readonly bodies = new Bodies(1_000 * kB, () => this.nowMs);
  readonly stopped: HeldBody[] = [];

  begin(): HeldBody {
    const body: HeldBody = new HeldBody({
      stop: () => {
        this.stopped.push(body);
        this.bodies.hold(body, 0);
      },
    });
    return body;
  }
}

test("a body that has stalled makes room for others; one that arrives does not", () => {
  const receiving = new Receiving();
  const { bodies } = receiving;
  const [idle, busy, next] = [receiving.begin(), receiving.begin(), receiving.begin()];
  assert.ok(bodies.hold(idle, 400 * kB));
  for (let second = 1; second <= 9; second += 1) {
    receiving.nowMs += 1_000;
    assert.ok(bodies.hold(busy, 50 * kB * second));
  }
  assert.ok(bodies.hold(next, 300 * kB));
  assert.deepEqual(receiving.stopped, [idle]);
  assert.equal(bodies.hold(next, 500 * kB), false);
  assert.equal(bodies.bytes, 750 * kB);
});

test("a body that is refused is stopped by its reader, and counted once", () => {
  const receiving = new Receiving();
  const { bodies } = receiving;
  const [slow, busy] = [receiving.begin(), receiving.begin()];
  assert.ok(bodies.hold(slow, 400 * kB));
  receiving.nowMs += 20_000;
  assert.ok(bodies.hold(busy, 475 * kB));
  assert.equal(bodies.hold(slow, 401 * kB), false);
  assert.deepEqual(receiving.stopped, []);
  assert.equal(bodies.bytes, 875 * kB);
});

test("nothing is stopped while there is room, or while it is we who do not read", () => {
  const receiving = new Receiving();
  const { bodies } = receiving;
  const [paused, small, large] = [receiving.begin(), receiving.begin(), receiving.begin()];
  assert.ok(bodies.hold(paused, 800 * kB));
  paused.isPaused = true;
  receiving.nowMs += 60_000;
  assert.ok(bodies.hold(small, 60 * kB));
  assert.equal(bodies.hold(large, 100 * kB), false);
  assert.deepEqual(receiving.stopped, []);
  paused.isPaused = false;
  assert.ok(bodies.hold(large, 100 * kB));
  assert.deepEqual(receiving.stopped, [paused]);
});

test("while memory is short, large bodies get no more of it, and small ones pass", () => {
  const receiving = new Receiving();
  const { bodies } = receiving;
  const large = receiving.begin();
  assert.ok(bodies.hold(large, 300 * kB));
  bodies.limitGrowth(100 * kB);
  assert.ok(bodies.hold(large, 400 * kB));
  assert.equal(bodies.hold(large, 401 * kB), false);
  assert.equal(bodies.take(100 * kB), false);
  assert.ok(bodies.hold(receiving.begin(), 60 * kB));
  bodies.limitGrowth(100 * kB);
  assert.ok(bodies.hold(large, 450 * kB));
});

test("a batch that waits for its next item does not hold the large item before it", async () => {
  const bodies = new Bodies(1_000 * kB);
  const body = new PassThrough();
  let answers: Promise<readonly string[]> | undefined;
  await new Promise<void>((taken) => {
    const take = (_item: unknown, put: (json: string) => void) => {
      put("{}");
      taken();
    };
    const reading = { bodies, bytesMax: 1_000 * kB, take, problemOf };
    answers = answerBatch(body as unknown as IncomingMessage, reading);
    body.write(`${JSON.stringify({ payload: "x".repeat(300 * kB) })}\n`);
  });
  await new Promise(setImmediate);
  assert.equal(bodies.bytes, 0);
  body.end("{}\n");
  assert.deepEqual(await answers, ["{}", "{}"]);
});
