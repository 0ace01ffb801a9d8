// A dispatcher that has reached `limits.memoryBytes` with accepted work. Each door refuses further
// work in its dialect's own way and /readyz says why, while accepted tasks go on. When there is
// room again, every door accepts work.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect, type RunningWorker, work, type YardClient } from "@yardmaster/sdk";
import { moniqueSpec, urlsOf } from "../hostile/load-target.js";
import { patience, waitMs } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

/** An idle dispatcher with all doors takes about 100 MB. */
const memoryBytes = 260_000_000;
const batch = `${JSON.stringify({ payload: "t".repeat(3_000) })}\n`.repeat(1_000);
/** How the SDK's client of each door sees the refusal. Pulse has no clients. */
const refusals = [
  ["pingpong", { code: "queue_full", message: /short of memory \(limits\.memoryBytes\)/ }],
  ["monique", { message: /short of memory \(limits\.memoryBytes\)/ }],
  ["scaler", { message: /short of memory \(limits\.memoryBytes\)/ }],
  ["udp", /did not acknowledge/],
] as const;
type Door = (typeof refusals)[number][0];

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + waitMs;
  while (!(await isSo())) {
    assert.ok(Date.now() < end, `in vain: ${what}`);
    await pause(100);
  }
}

describe("a dispatcher that has reached limits.memoryBytes", patience, () => {
  let yard: ServedYard;
  const clients: YardClient[] = [];
  const workers: RunningWorker[] = [];

  before(async () => {
    yard = await serveYard({
      limits: { memoryBytes },
      queues: { full: { maxWaiting: 1_000_000 } },
      doors: {
        ...{ pingpong: {}, pulse: {}, udp: {}, scaler: {} },
        monique: { controllers: { [moniqueSpec]: 0 } },
      },
    });
    const urls = urlsOf(yard);
    for (const [door] of refusals) {
      const url = door === "pingpong" ? urls.pingpongWorkers : urls[door];
      const queue = door === "monique" ? { queue: moniqueSpec } : {};
      workers.push(
        await work(url, { ...queue, name: `echo-${door}`, onError: () => {} }, (body) => body.text()),
      );
    }
  });
  after(async () => {
    await Promise.allSettled(clients.map((client) => client.close()));
    await Promise.allSettled(workers.map((worker) => worker.stop({ graceMs: 0 })));
    await yard.stop();
  });

  async function call(door: Door): Promise<string> {
    const client = await connect(urlsOf(yard)[door]);
    clients.push(client);
    const queue = door === "monique" ? { queue: moniqueSpec } : {};
    const { body } = await client.call(door === "udp" ? { text: "work" } : "work", { ...queue, waitMs });
    return body.text();
  }

  const submit = (body: string) => fetch(`${yard.url}/v1/queues/full/tasks`, { method: "POST", body });

  /** Garbage is collected during a shortage, and may end it once more. */
  function fill(): Promise<void> {
    return until("a task is refused", async () => {
      if ((await submit("work")).status === 429) return true;
      const url = `${yard.url}/v1/queues/full/tasks:batch`;
      await (await fetch(url, { method: "POST", body: batch })).arrayBuffer();
      return false;
    });
  }

  test("each door refuses in its own way, accepted work goes on, and all accept work again", async () => {
    await fill();
    assert.match(await (await submit("work")).text(), /short of memory: .*limits\.memoryBytes/);
    const ready = await fetch(`${yard.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.match(await ready.text(), /of the 260 MB of limits\.memoryBytes/);

    for (const [door, refusal] of refusals) {
      await until(`${door} refuses`, async () => {
        await fill();
        const error = await call(door).then(
          () => undefined,
          (reason: Error) => reason,
        );
        if (error === undefined) return false;
        await assert.rejects(Promise.reject(error), refusal, door);
        return true;
      });
    }

    const claimed = await fetch(`${yard.url}/v1/queues/full:claim?worker=w`, { method: "POST" });
    const { attempts } = (await claimed.json()) as {
      attempts: { task: string; attempt: number; token: string }[];
    };
    const { task, attempt, token } = attempts[0] as (typeof attempts)[number];
    const headers = { "Yard-Token": token };
    const done = `${yard.url}/v1/tasks/${task}/attempts/${attempt}:done`;
    assert.equal((await fetch(done, { method: "POST", headers, body: "done" })).status, 200);

    assert.equal((await fetch(`${yard.url}/v1/queues/full:purge`, { method: "POST" })).status, 202);
    await until("/readyz is fine", async () => (await fetch(`${yard.url}/readyz`)).status === 200);
    assert.equal((await submit("work")).status, 201);
    for (const [door] of refusals) assert.match(await call(door), /work/);
  });
});
