// The pulse door with plain Python workers that behave like three versions of the original C++
// worker: jobs of 0.1, 5 and 20 seconds, a worker paused for 10 seconds, one that is cut off in the
// middle, and a dispatcher that is killed or stopped. Each result is compared with its task. `npm
// run originals -- pulse`.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { type PythonPeer, skipReason, startPython } from "../interop/foreign.js";
import { originalPulseWorker, type PulseWorkerVersion } from "../interop/pulse-peers.js";

interface SupervisedWorker {
  peer: PythonPeer;
  /** The jobs it received, in order, across its own restarts. */
  readonly began: string[];
  /** How often it exited by itself. The original does so when a pulse reaches no controller. */
  ends: number;
}

interface Yard {
  yard: ServedYard;
  worker(version: PulseWorkerVersion): SupervisedWorker;
}

async function openYard(t: TestContext): Promise<Yard> {
  const opened = await serveYard({ doors: { pulse: {} } });
  const dir = resolve(opened.folder, String(opened.doors.pulse?.dir));
  const peers: PythonPeer[] = [];
  const yard: Yard = {
    yard: opened,
    worker(version) {
      const worker: SupervisedWorker = {
        peer: startPython(originalPulseWorker, dir, version),
        began: [],
        ends: 0,
      };
      peers.push(worker.peer);
      void (async () => {
        for (;;) {
          const [word, job] = (await worker.peer.line()).split(" ");
          if (word === "job") worker.began.push(String(job));
          if (word !== "ends:") continue;
          worker.ends += 1;
          await sleep(1_000);
          worker.peer = startPython(originalPulseWorker, dir, version);
          peers.push(worker.peer);
        }
      })();
      return worker;
    },
  };
  t.after(async () => {
    await Promise.all(peers.map((peer) => peer.stop()));
    assert.equal(await yard.yard.stop(), 0);
  });
  return yard;
}

async function submit({ yard }: Yard, seconds: number, index: number) {
  const name = `JOB${index}`;
  const url = `${yard.url}/v1/queues/pulse/tasks`;
  const accepted = await fetch(url, { method: "POST", body: `${name} ${seconds}` });
  assert.equal(accepted.status, 201);
  return { name, id: ((await accepted.json()) as { id: string }).id };
}

/** Waits for the end of a task and checks its result. */
async function finished(holder: Yard, { id, name }: { id: string; name: string }): Promise<void> {
  for (;;) {
    const task = (await (await fetch(`${holder.yard.url}/v1/tasks/${id}`)).json()) as { state: string };
    if (task.state === "done") break;
    assert.match(task.state, /waiting|running/, `${name} is ${task.state}`);
    await sleep(200);
  }
  const result = await (await fetch(`${holder.yard.url}/v1/tasks/${id}/result`)).text();
  assert.equal(result, `${name} done`);
}

async function begun(began: readonly string[]): Promise<void> {
  while (began.length === 0) await sleep(50);
}

async function statesOf({ yard }: Yard): Promise<string[]> {
  const { items } = (await (await fetch(`${yard.url}/v1/workers`)).json()) as { items: { state: string }[] };
  return items.map(({ state }) => state);
}

const skip = skipReason("python3", ["-c", "import socket, struct, threading"]);

describe("the original pulse worker", { skip, timeout: 400_000, concurrency: 3 }, () => {
  for (const version of ["22945b81", "7a2e2aa"] as const) {
    test(`${version}: jobs of 0.1, 5 and 20 s are each done once`, async (t) => {
      const yard = await openYard(t);
      const workers = [yard.worker(version), yard.worker(version)];
      const jobs = await Promise.all([0.1, 5, 20, 5, 0.1].map((seconds, at) => submit(yard, seconds, at)));
      await Promise.all(jobs.map((job) => finished(yard, job)));
      const began = workers.flatMap((worker) => worker.began).sort();
      assert.deepEqual(
        began,
        jobs.map(({ name }) => name),
      );
    });

    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      test(`${version}: ${signal} of the dispatcher; a worker at work keeps its job`, async (t) => {
        const yard = await openYard(t);
        const worker = yard.worker(version);
        const jobs = await Promise.all([20, 0.1].map((seconds, at) => submit(yard, seconds, at)));
        await begun(worker.began);
        await sleep(2_000);
        yard.yard = await yard.yard.restart(signal);
        await Promise.all(jobs.map((job) => finished(yard, job)));
        // Unless the worker sent FETCH_ME while the dispatcher was away.
        if (worker.ends === 0) assert.deepEqual(worker.began, ["JOB0", "JOB1"]);
      });
    }
  }

  test("7a2e2aa: an idle worker that names its last task lives through a restart, and does the next", async (t) => {
    const yard = await openYard(t);
    const worker = yard.worker("7a2e2aa");
    await finished(yard, await submit(yard, 0.1, 0));
    yard.yard = await yard.yard.restart("SIGKILL");
    await finished(yard, await submit(yard, 0.1, 1));
    assert.deepEqual([worker.began, worker.ends], [["JOB0", "JOB1"], 0]);
  });

  test("7a2e2aa: a worker paused for 10 s at a job of 5 s, and one that is killed at another", async (t) => {
    const yard = await openYard(t);
    const [paused, doomed] = [yard.worker("7a2e2aa"), yard.worker("7a2e2aa")];
    const jobs = await Promise.all([5, 5, 0.1].map((seconds, at) => submit(yard, seconds, at)));
    await Promise.all([begun(paused.began), begun(doomed.began)]);
    paused.peer.signal("SIGSTOP");
    await doomed.peer.stop();
    await sleep(10_000);
    paused.peer.signal("SIGCONT");
    yard.worker("7a2e2aa");
    // The document gives a silent worker the time that it announced, which is 60 s here.
    await Promise.all(jobs.map((job) => finished(yard, job)));
  });

  test("d6e222da does one job and says BUSY for good; another does the rest", async (t) => {
    const yard = await openYard(t);
    const old = yard.worker("d6e222da");
    await finished(yard, await submit(yard, 0.1, 0));
    const second = await submit(yard, 0.1, 1);
    await sleep(4_000);
    assert.deepEqual([await statesOf(yard), old.began], [["busy"], ["JOB0"]]);
    yard.worker("7a2e2aa");
    await finished(yard, second);
  });
});
