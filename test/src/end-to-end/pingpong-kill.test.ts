// kill -9 of a busy pingpong worker: its job is with another within 200 ms, and the client gets one
// answer.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PingpongClient, PingpongWorker } from "@yardmaster/sdk";
import { Dealer } from "@yardmaster/zmtp";
import { Inbox } from "../interop/inbox.js";
import { measured, patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

/** The promised time from the closed connection until the job runs elsewhere. */
const elsewhereMsMax = 200;
const rounds = 5;

const sdk = fileURLToPath(new URL("../../../packages/sdk/dist/index.js", import.meta.url));

/** A worker in its own process: it prints its job and works on it forever. */
async function startDoomed(broker: string): Promise<{ child: ChildProcess; given: Inbox<string> }> {
  const script = `import { PingpongWorker } from ${JSON.stringify(sdk)};
    new PingpongWorker({ broker: ${JSON.stringify(broker)}, identity: "doomed", work: (parts) => {
      console.log("given " + parts);
      return new Promise(() => {});
    } });
    console.log("started");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const given = new Inbox<string>();
  createInterface({ input: child.stdout }).on("line", given.put);
  assert.equal(await given.next(), "started");
  return { child, given };
}

test("kill -9 of a busy pingpong worker", patience, async (t) => {
  const yard = await serveYard({ doors: { pingpong: {} } });
  const { clients, workers } = yard.doors.pingpong ?? {};
  const answers = new Inbox<string[]>();
  let join = () => {};
  const joined = new Promise<void>((resolve) => {
    join = resolve;
  });
  const client = new Dealer({
    onPeer: () => join(),
    onMessage: (_peer, frames) => answers.put(frames.map(String)),
  });
  client.connect(`tcp://${clients}`);
  await joined;
  const tookMs: number[] = [];
  const legs: string[] = [];

  for (let round = 0; round < rounds; round += 1) {
    const { child, given } = await startDoomed(`tcp://${workers}`);
    const asked = [Buffer.from(`n${round}`), Buffer.alloc(0), Buffer.from(`job ${round}`)];
    assert.equal(client.send(asked), "sent");
    assert.equal(await given.next(), `given job ${round}`);

    // Another worker, which is idle at that time.
    const begun = new Inbox<number>();
    const heir = new PingpongWorker({
      broker: `tcp://${workers}`,
      identity: `heir-${round}`,
      work: (parts) => {
        begun.put(performance.now());
        return [Buffer.from(`${parts}, done elsewhere`)];
      },
    });
    await workerIs(yard.url, `pingpong/heir-${round}`, "idle");

    const killedAt = performance.now();
    const killedWall = Date.now();
    child.kill("SIGKILL");
    tookMs.push((await begun.next()) - killedAt);
    assert.deepEqual(await answers.next(), [`n${round}`, "", `job ${round}, done elsewhere`]);
    legs.push(await legsOf(yard.url, round + 1, killedWall));
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await heir.stop();
    await workerIs(yard.url, `pingpong/heir-${round}`, "lost");
  }

  // A surplus answer would arrive before this one.
  const last = new PingpongWorker({ broker: `tcp://${workers}`, work: (parts) => parts });
  client.send([Buffer.from("last"), Buffer.alloc(0), Buffer.from("echo")]);
  assert.deepEqual(await answers.next(), ["last", "", "echo"]);

  const shown = tookMs.map((ms, round) => `${ms.toFixed(1)} (${legs[round]})`).join(", ");
  t.diagnostic(`ms from kill -9 to running elsewhere (loss seen, given out): ${shown}`);
  measured(t, "the longest of them", Math.max(...tookMs), elsewhereMsMax);
  await last.stop();
  await client.close();
  assert.equal(await yard.stop(), 0);
});

test(
  "a job that its worker's function throws on is done by another, and answered once",
  patience,
  async () => {
    const yard = await serveYard({ doors: { pingpong: {} } });
    const { clients, workers } = yard.doors.pingpong ?? {};
    const errors = new Inbox<unknown>();
    const clumsy = new PingpongWorker({
      broker: `tcp://${workers}`,
      identity: "clumsy",
      work: () => {
        throw new Error("dropped it");
      },
      onError: errors.put,
    });
    await workerIs(yard.url, "pingpong/clumsy", "idle");
    const client = new PingpongClient({ broker: `tcp://${clients}` });
    const able = new PingpongWorker({
      broker: `tcp://${workers}`,
      identity: "able",
      work: (parts) => parts.map((part) => Buffer.from(String(part).toUpperCase())),
    });
    await workerIs(yard.url, "pingpong/able", "idle");
    const result = await client.submit(Buffer.from("a"), Buffer.from("b"));
    assert.deepEqual(result.map(String), ["A", "B"]);
    assert.match(String(await errors.next()), /dropped it/);
    const task = (await (await fetch(`${yard.url}/v1/tasks/1`)).json()) as { story: { cause: string }[] };
    assert.deepEqual(
      task.story.map(({ cause }) => cause),
      ["submitted", "assigned", "lost: connection_closed", "assigned", "done"],
    );
    await Promise.all([clumsy.stop(), able.stop(), client.close()]);
    assert.equal(await yard.stop(), 0);
  },
);

/**
 * When the yard noticed the loss and when it assigned the task again, relative to the kill. Shows
 * where the time went if it was too long.
 */
async function legsOf(url: string, task: number, killedWall: number): Promise<string> {
  const { story } = (await (await fetch(`${url}/v1/tasks/${task}`)).json()) as {
    story: { at: string; cause: string }[];
  };
  const lost = story.findIndex(({ cause }) => cause.startsWith("lost"));
  // By its connection, not by its silence some seconds later.
  assert.equal(story[lost]?.cause, "lost: connection_closed");
  return [story[lost], story[lost + 1]].map((entry) => Date.parse(entry?.at ?? "") - killedWall).join(", ");
}

async function workerIs(url: string, id: string, state: string): Promise<void> {
  for (;;) {
    const { items } = (await (await fetch(`${url}/v1/workers`)).json()) as {
      items: { id: string; state: string }[];
    };
    if (items.some((worker) => worker.id === id && worker.state === state)) return;
  }
}
