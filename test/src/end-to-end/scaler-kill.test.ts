// kill -9 of a busy scaler worker: its running and queued tasks are with another within 200 ms. And
// kill -9 of the dispatcher: our client and worker reconnect to the next one, and the client gets
// its results.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { resultOf, ScalerClient, ScalerWorker } from "@yardmaster/sdk";
import { Lives } from "../crash/lives.js";
import { Inbox } from "../interop/inbox.js";
import { measured, patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

/** The promised time from the closed connection until the task runs elsewhere. */
const elsewhereMsMax = 200;
const sdk = fileURLToPath(new URL("../../../packages/sdk/dist/index.js", import.meta.url));

/** A worker in its own process: it prints its task and works on it forever. */
async function startDoomed(scheduler: string): Promise<{ child: ChildProcess; given: Inbox<string> }> {
  const script = `import { ScalerWorker } from ${JSON.stringify(sdk)};
    new ScalerWorker({ scheduler: ${JSON.stringify(scheduler)}, identity: "doomed", functions: { hold: ([name]) => {
      console.log(name);
      return new Promise(() => {});
    } } });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const given = new Inbox<string>();
  createInterface({ input: child.stdout }).on("line", given.put);
  return { child, given };
}

test("kill -9 of a busy scaler worker", patience, async (t) => {
  const yard = await serveYard({ doors: { scaler: {} } });
  const scheduler = `tcp://${yard.doors.scaler?.listen}`;
  const client = new ScalerClient({ scheduler });
  const { child, given } = await startDoomed(scheduler);
  const running = client.submit("hold", "running");
  assert.equal(await given.next(), "running");
  const begun = new Inbox<[name: unknown, at: number]>();
  const heir = new ScalerWorker({
    scheduler,
    identity: "heir",
    functions: {
      hold: ([name]) => {
        begun.put([name, performance.now()]);
        return `${name} elsewhere`;
      },
    },
  });
  await joined(yard.url, "scaler/heir");
  const killedAt = performance.now();
  child.kill("SIGKILL");
  const [name, at] = await begun.next();
  assert.equal(name, "running");
  assert.equal(await running, "running elsewhere");
  measured(t, "from kill -9 to running elsewhere", at - killedAt, elsewhereMsMax);
  const task = (await (await fetch(`${yard.url}/v1/tasks/1`)).json()) as { story: { cause: string }[] };
  assert.deepEqual(
    task.story.map(({ cause }) => cause),
    ["submitted", "assigned", "lost: connection_closed", "assigned", "done"],
  );
  await Promise.all([client.close(), heir.stop()]);
  assert.equal(await yard.stop(), 0);
});

test("kill -9 of the dispatcher under our own scaler ends", patience, async () => {
  const lives = new Lives("embedded");
  await lives.start();
  const scheduler = lives.addresses.scaler;
  const begun = new Inbox<unknown>();
  const release: (() => void)[] = [];
  let runs = 0;
  const hold = ([name]: readonly unknown[]) =>
    new Promise((resolve) => {
      release.push(() => resolve(`${name} done`));
      runs += 1;
      begun.put(name);
    });
  const double = ([x]: readonly unknown[]) => 2 * Number(x);
  const add = ([a, b]: readonly unknown[]) => Number(a) + Number(b);
  const functions = { hold, double, add };
  const worker = new ScalerWorker({ scheduler, functions, identity: "survivor" });
  const client = new ScalerClient({ scheduler });
  const running = client.submit("hold", "running");
  assert.equal(await begun.next(), "running");
  const queued = [1, 2, 3].map((x) => client.submit("double", x));
  const nodes = { a: { call: "double", args: [4] }, b: { call: "add", args: [resultOf("a"), 1] } };
  const graph = client.get(nodes, ["b"]);
  await waiting(lives.addresses.http, 5);
  await lives.kill();
  const late = client.submit("double", 21);
  await lives.start();
  for (const end of release.splice(0)) end();
  assert.equal(await running, "running done");
  assert.deepEqual(await Promise.all(queued), [2, 4, 6]);
  assert.deepEqual(await graph, { b: 9 });
  assert.equal(await late, 42);
  assert.equal(runs, 1, "what was begun before went on");
  await Promise.all([client.close(), worker.stop()]);
  assert.equal(await lives.stop(), 0);
  lives.clean();
});

async function joined(url: string, id: string): Promise<void> {
  for (;;) {
    const { items } = (await (await fetch(`${url}/v1/workers`)).json()) as { items: { id: string }[] };
    if (items.some((worker) => worker.id === id)) return;
  }
}

/** Resolves when this many tasks were assigned. */
async function waiting(url: string, count: number): Promise<void> {
  for (;;) {
    const { items } = (await (await fetch(`${url}/v1/tasks?limit=100`)).json()) as { items: unknown[] };
    if (items.length === count) return;
  }
}
