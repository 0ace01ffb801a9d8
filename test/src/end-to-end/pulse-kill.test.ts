// kill -9 of a busy pulse worker, and the SDK's worker with a real dispatcher.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PulseWorker } from "@yardmaster/sdk";
import { Inbox } from "../interop/inbox.js";
import { measured, patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const sdk = fileURLToPath(new URL("../../../packages/sdk/dist/index.js", import.meta.url));
/**
 * The interval that the killed worker announces. Nothing else shows the loss of a worker that has
 * answered SET_TASK.
 */
const nextPulseSeconds = 1;
const limitMs = nextPulseSeconds * 1000 + 1_000;

interface Task {
  readonly state: string;
  readonly story: { readonly cause: string }[];
}

async function submit(yard: ServedYard, body: string, query = ""): Promise<{ id: string } & Task> {
  const response = await fetch(`${yard.url}/v1/queues/pulse/tasks${query}`, { method: "POST", body });
  return (await response.json()) as { id: string } & Task;
}

test("kill -9 of a busy pulse worker", patience, async (t) => {
  const yard = await serveYard({ doors: { pulse: {} } });
  const dir = String(yard.doors.pulse?.dir);
  const script = `import { PulseWorker } from ${JSON.stringify(sdk)};
    new PulseWorker({ dir: ${JSON.stringify(dir)}, nextPulseSeconds: ${nextPulseSeconds}, pulseMs: 300, work: (payload) => {
      console.log("given " + payload);
      return new Promise(() => {});
    } });`;
  const doomed = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const given = new Inbox<string>();
  createInterface({ input: doomed.stdout }).on("line", given.put);
  const { id } = await submit(yard, "job");
  assert.equal(await given.next(), "given job");
  const begun = new Inbox<number>();
  const heir = new PulseWorker({
    dir,
    work: (payload) => {
      begun.put(performance.now());
      return Buffer.from(`${payload}, done elsewhere`);
    },
  });
  const killedAt = performance.now();
  doomed.kill("SIGKILL");
  const tookMs = (await begun.next()) - killedAt;
  measured(t, "from kill -9 to running elsewhere, of a worker that announced 1 s", tookMs, limitMs);
  await heir.stop();
  const task = (await (await fetch(`${yard.url}/v1/tasks/${id}`)).json()) as Task;
  // By its connection, if it was killed before its answer to SET_TASK was sent.
  assert.match(
    task.story.map(({ cause }) => cause).join(),
    /^submitted,assigned,lost: (silence|connection_closed),assigned,done$/,
  );
  assert.equal(await yard.stop(), 0);
});

for (const numbering of ["document", "main"] as const) {
  test(`the SDK's pulse worker, in ${numbering} numbering`, patience, async () => {
    const yard = await serveYard({ doors: { pulse: {} } });
    const dir = String(yard.doors.pulse?.dir);
    const worker = new PulseWorker({
      dir,
      numbering,
      work: (payload) => {
        if (String(payload) === "bad") throw new Error("cannot do that");
        return Buffer.from(String(payload).toUpperCase());
      },
    });
    for (const text of ["one", "", "two"]) {
      const { id, state } = await submit(yard, text, "?wait=120s");
      assert.equal(state, "done");
      assert.equal(await (await fetch(`${yard.url}/v1/tasks/${id}/result`)).text(), text.toUpperCase());
    }
    const failed = await submit(yard, "bad", "?wait=120s&attempts=1");
    assert.equal(failed.state, "failed");
    assert.equal(failed.story.at(-1)?.cause, "lost: reported: cannot do that");
    const path = `${dir}/${worker.id}.sock`;
    assert.ok(existsSync(path));
    await worker.stop();
    assert.ok(!existsSync(path));
    const { items } = (await (await fetch(`${yard.url}/v1/workers`)).json()) as {
      items: { state: string }[];
    };
    assert.deepEqual(
      items.map(({ state }) => state),
      ["lost"],
    );
    assert.equal(await yard.stop(), 0);
  });
}
