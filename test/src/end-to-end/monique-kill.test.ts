// kill -9 of a busy monique worker: its task is with another within 200 ms, and the client gets one
// answer.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { MoniqueComponent } from "@yardmaster/sdk";
import { Inbox } from "../interop/inbox.js";
import { measured, patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

/** The promised time from the closed connection until the task runs elsewhere. */
const elsewhereMsMax = 200;
const rounds = 5;
const spec = "example_calculator";

const sdk = fileURLToPath(new URL("../../../packages/sdk/dist/index.js", import.meta.url));

/** A worker in its own process: it prints its task and works on it forever. */
async function startDoomed(
  scheduler: object,
  controller: string,
): Promise<{ child: ChildProcess; given: Inbox<string> }> {
  const script = `import { MoniqueComponent } from ${JSON.stringify(sdk)};
    const component = new MoniqueComponent({ scheduler: ${JSON.stringify(scheduler)}, creator: "doomed" });
    await component.answer("${spec}", ({ data }) => {
      console.log("given " + data);
      return new Promise(() => {});
    }, ${JSON.stringify(controller)});
    console.log("started");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const given = new Inbox<string>();
  createInterface({ input: child.stdout }).on("line", given.put);
  assert.equal(await given.next(), "started");
  return { child, given };
}

test("kill -9 of a busy monique worker", patience, async (t) => {
  const yard = await serveYard({ doors: { monique: { controllers: { [spec]: 0 } } } });
  const address = (name: string) => `tcp://${yard.doors.monique?.[name]}`;
  const scheduler = { in: address("in"), out: address("out") };
  const controller = address(`controllers.${spec}`);
  const asker = new MoniqueComponent({ scheduler, creator: "asker" });
  const tookMs: number[] = [];

  for (let round = 0; round < rounds; round += 1) {
    const { child, given } = await startDoomed(scheduler, controller);
    const answer = asker.ask(spec, `"job ${round}"`);
    assert.equal(await given.next(), `given "job ${round}"`);

    // Another worker, which is idle at that time.
    const begun = new Inbox<number>();
    const heir = new MoniqueComponent({ scheduler, creator: "heir" });
    await heir.answer(
      spec,
      ({ data }) => {
        begun.put(performance.now());
        return `${data} done elsewhere`;
      },
      controller,
    );
    await idleWorkers(yard.url, 1);

    const killedAt = performance.now();
    child.kill("SIGKILL");
    tookMs.push((await begun.next()) - killedAt);
    assert.equal((await answer).data.toString(), `"job ${round}" done elsewhere`);
    // The loss was noticed by its connection, not later by a lease or silence.
    const task = (await (await fetch(`${yard.url}/v1/tasks/${round + 1}`)).json()) as {
      story: { cause: string }[];
    };
    assert.deepEqual(
      task.story.map(({ cause }) => cause),
      ["submitted", "assigned", "lost: connection_closed", "assigned", "done"],
    );
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await heir.close();
    await idleWorkers(yard.url, 0);
  }

  const shown = tookMs.map((ms) => ms.toFixed(1)).join(", ");
  t.diagnostic(`ms from kill -9 to running elsewhere: ${shown}`);
  measured(t, "the longest of them", Math.max(...tookMs), elsewhereMsMax);
  await asker.close();
  assert.equal(await yard.stop(), 0);
});

async function idleWorkers(url: string, count: number): Promise<void> {
  for (;;) {
    const { items } = (await (await fetch(`${url}/v1/workers`)).json()) as { items: { state: string }[] };
    if (items.filter(({ state }) => state === "idle").length === count) return;
  }
}
