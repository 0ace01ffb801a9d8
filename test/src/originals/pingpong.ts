// The pingpong door with peers that behave like the original program's worker and its Trader: jobs
// of 0.1, 5 and 20 seconds, a cut connection, a worker paused for 10 seconds, and a dispatcher that
// is killed or stopped in the middle. Each result is compared with its job. `npm run originals --
// pingpong`.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { type PythonPeer, startPython, withoutPyzmq } from "../interop/foreign.js";
import { originalWorker, reqClient, traderClient } from "../interop/pingpong-peers.js";
import { startProxy, type Proxy as Way } from "../interop/proxy.js";

/** As in the original. */
const brokerTimeoutSeconds = "1";

interface Market {
  yard: ServedYard;
  readonly clients: Way;
  readonly workers: Way;
  /** Starts another worker like the original's; `began` lists its jobs in order. */
  worker(name: string): { readonly peer: PythonPeer; readonly began: string[] };
  client(script: string): PythonPeer;
  /** Ends the dispatcher and starts it again at the same addresses. */
  restart(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

/** A dispatcher behind addresses that outlive it. */
async function openMarket(t: TestContext): Promise<Market> {
  const yard = await serveYard({ doors: { pingpong: { form: "program" } } });
  const clients = await startProxy(String(yard.doors.pingpong?.clients));
  const workers = await startProxy(String(yard.doors.pingpong?.workers));
  const peers: PythonPeer[] = [];
  const started = (peer: PythonPeer) => {
    peers.push(peer);
    return peer;
  };
  const market: Market = {
    yard,
    clients,
    workers,
    worker(name) {
      const peer = started(startPython(originalWorker, workers.address, name, brokerTimeoutSeconds));
      const began: string[] = [];
      void (async () => {
        for (;;) {
          const [word, job] = (await peer.line()).split(" ");
          if (word === "job") began.push(String(job));
        }
      })();
      return { peer, began };
    },
    client: (script) => started(startPython(script, clients.address)),
    async restart(signal) {
      market.yard = await market.yard.restart(signal);
      clients.aim(String(market.yard.doors.pingpong?.clients));
      workers.aim(String(market.yard.doors.pingpong?.workers));
      clients.cut();
      workers.cut();
    },
  };
  t.after(async () => {
    await Promise.all(peers.map((peer) => peer.stop()));
    await Promise.all([clients.close(), workers.close()]);
    assert.equal(await market.yard.stop(), 0);
  });
  return market;
}

/** Submits by REQ, and checks that the answer belongs to this job. */
async function ask(market: Market, name: string, seconds: number): Promise<void> {
  const client = market.client(reqClient);
  client.write(`${name} ${seconds}\n`);
  assert.match(await client.line(), new RegExp(`^${name} by `));
}

async function submit(market: Market, name: string, seconds: number): Promise<string> {
  const url = `${market.yard.url}/v1/queues/pingpong/tasks`;
  const accepted = await fetch(url, { method: "POST", body: `${name} ${seconds}` });
  assert.equal(accepted.status, 201);
  return ((await accepted.json()) as { id: string }).id;
}

/** Waits for the end of a task submitted by http, and checks its result. */
async function finished(market: Market, id: string, name: string): Promise<void> {
  for (;;) {
    const task = (await (await fetch(`${market.yard.url}/v1/tasks/${id}`)).json()) as { state: string };
    if (task.state === "done") break;
    assert.match(task.state, /waiting|running/, `${name} is ${task.state}`);
    await sleep(200);
  }
  const result = await (await fetch(`${market.yard.url}/v1/tasks/${id}/result`)).text();
  assert.match(result, new RegExp(`^${name} by `));
}

async function begun(began: readonly string[]): Promise<void> {
  while (began.length === 0) await sleep(50);
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `JOB${index}`);

describe("the original pingpong program", { skip: withoutPyzmq, timeout: 240_000, concurrency: true }, () => {
  for (const seconds of [0.1, 5, 20]) {
    test(`jobs of ${seconds} s: each is begun once, and answered to the client that asked`, async (t) => {
      const market = await openMarket(t);
      const workers = [market.worker("one"), market.worker("two")];
      const jobs = names(4);
      await Promise.all(jobs.map((name) => ask(market, name, seconds)));
      assert.deepEqual(workers.flatMap(({ began }) => began).sort(), jobs);
    });
  }

  test("a Trader's orders of 0.1 and 5 s are all answered", async (t) => {
    const market = await openMarket(t);
    market.worker("one");
    const trader = market.client(traderClient);
    trader.write("A 5\nB 0.1\nC 5\n");
    const answers = [await trader.line(), await trader.line(), await trader.line()];
    assert.deepEqual(answers.sort(), ["A by one", "B by one", "C by one"]);
  });

  test("the workers' connections are cut in the middle of jobs of 5 s", async (t) => {
    const market = await openMarket(t);
    const workers = [market.worker("one"), market.worker("two")];
    const asking = names(4).map((name) => ask(market, name, 5));
    await Promise.all(workers.map(({ began }) => begun(began)));
    await sleep(2_000);
    market.workers.cut();
    await Promise.all(asking);
  });

  test("a worker is paused for 10 s at a job of 5 s", async (t) => {
    const market = await openMarket(t);
    const workers = [market.worker("one"), market.worker("two")];
    const asking = names(4).map((name) => ask(market, name, 5));
    await Promise.all(workers.map(({ began }) => begun(began)));
    workers[0]?.peer.signal("SIGSTOP");
    await sleep(10_000);
    workers[0]?.peer.signal("SIGCONT");
    await Promise.all(asking);
  });

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(`${signal} of the dispatcher in the middle of jobs of 0.1, 5 and 20 s`, async (t) => {
      const market = await openMarket(t);
      const workers = [market.worker("one"), market.worker("two")];
      const jobs = await Promise.all(
        [20, 5, 0.1, 5, 0.1].map(async (seconds, index) => {
          const name = `JOB${index}`;
          return { id: await submit(market, name, seconds), name };
        }),
      );
      await Promise.all(workers.map(({ began }) => begun(began)));
      await sleep(2_000);
      await market.restart(signal);
      await Promise.all(jobs.map(({ id, name }) => finished(market, id, name)));
    });
  }
});
