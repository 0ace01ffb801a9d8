// Progress from a worker to those who watch, through a real dispatcher: over http, SDK and CLI,
// with kill -9 in the middle.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, type HttpClient, type Task, TaskEndedError, work } from "@yardmaster/sdk";
import { measured, patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

async function clientOf({ url }: ServedYard): Promise<HttpClient> {
  return (await connect(url)) as HttpClient;
}

function gate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Reads on until one is as wanted. */
async function until(watch: AsyncGenerator<Task>, isWanted: (task: Task) => boolean): Promise<Task> {
  for await (const task of watch) if (isWanted(task)) return task;
  throw new Error("the watch ended");
}

test("an SDK worker reports, a watch sees it, and kill -9 loses no recorded report", patience, async () => {
  let yard = await serveYard({ graceSeconds: 600 });
  try {
    const before = await clientOf(yard);
    const halfway = gate();
    const worker = await work(yard.url, { queue: "render", leaseMs: 2000 }, async (_, context) => {
      // A flood: the last report counts.
      for (let at = 0; at <= 50_000; at++) context.progress(at / 100_000, `frame ${at}`);
      await halfway.opened;
      return "rendered";
    });
    const { id } = await before.submit("scene", { queue: "render" });
    const seen = await until(before.watch(id), ({ progress }) => progress?.value === 0.5);
    assert.equal(seen.state, "running");
    assert.equal(seen.progress?.message, "frame 50000");
    const metrics = await before.metrics();
    const reports = Number(/progress_reports_total\{door="http"\} (\d+)/.exec(metrics)?.[1]);
    assert.ok(reports >= 1 && reports < 10, `${reports} reports were sent for 50,000`);
    await before.close();
    yard = await yard.restart("SIGKILL");
    const after = await clientOf(yard);
    const recovered = await after.task(id);
    assert.equal(recovered.progress?.value, 0.5);
    await after.close();
    halfway.open();
    await worker.stop({ graceMs: 0 });
    assert.equal(await yard.stop(), 0);
  } finally {
    yard.process.kill("SIGKILL");
  }
});

test(
  "the last report before the end is kept, and a stack trace is the error's detail",
  patience,
  async () => {
    const yard = await serveYard();
    try {
      const client = await clientOf(yard);
      const worker = await work(yard.url, { queues: ["good", "bad"], concurrency: 2 }, (_, context) => {
        context.progress({ in: context.queue });
        context.progress(1, "all of it");
        if (context.queue === "bad") throw new TypeError("no such frame");
        return "fine";
      });
      const good = await client.submit("x", { queue: "good" });
      const bad = await client.submit("x", { queue: "bad" });
      assert.equal((await client.result(good)).text(), "fine");
      assert.equal((await client.task(good.id)).progress?.value, 1);
      await assert.rejects(client.result(bad), (fault: unknown) => {
        assert.ok(fault instanceof TaskEndedError);
        assert.match(fault.detail ?? "", /^TypeError: no such frame\n\s+at .*progress\.test/);
        return true;
      });
      assert.match((await client.task(bad.id)).error?.detail ?? "", /TypeError: no such frame/);
      await worker.stop();
      await client.close();
      assert.equal(await yard.stop(), 0);
    } finally {
      yard.process.kill("SIGKILL");
    }
  },
);

test("a cancel reaches the handler's signal within a second, and the watch ends", patience, async (t) => {
  const yard = await serveYard();
  try {
    const client = await clientOf(yard);
    const running = gate();
    const aborted = gate();
    const worker = await work(yard.url, { queue: "long", leaseMs: 600_000 }, (_, { signal }) => {
      running.open();
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted.open();
          reject(signal.reason);
        });
      });
    });
    const { id } = await client.submit("x", { queue: "long" });
    await running.opened;
    const watched = until(client.watch(id), ({ state }) => state === "cancelled");
    const at = performance.now();
    await client.cancel(id);
    // With a lease of ten minutes no beat is due: the stream brings it.
    await aborted.opened;
    measured(t, "from the cancel to the handler's signal", performance.now() - at, 1000);
    await worker.stop({ graceMs: 60_000 });
    assert.equal((await watched).state, "cancelled");
    await client.close();
    assert.equal(await yard.stop(), 0);
  } finally {
    yard.process.kill("SIGKILL");
  }
});

test("the command line: lines on file descriptor 3, and --follow", patience, async () => {
  const yard = await serveYard();
  const env = { ...process.env, YARD_URL: yard.url };
  const script = 'echo "0.25 first" >&3; read gate; echo 0.75 >&3; echo "to stderr" >&2; cat';
  const program = ["-q", "cli", "--idle", "60s", "--", "sh", "-c", `${script}; exit $gate`];
  const worker = spawn(process.execPath, [bin, "work", yard.url, ...program], { env, stdio: "ignore" });
  try {
    const client = await clientOf(yard);
    const { id } = await client.submit("0\nmade\n", { queue: "cli" });
    const follow = spawn(process.execPath, [bin, "task", id, "--follow"], { env });
    const lines: string[] = [];
    const reading = createInterface({ input: follow.stdout });
    reading.on("line", (line) => lines.push(line));
    const [code] = await once(follow, "close");
    assert.equal(code, 0, lines.join("\n"));
    assert.match(lines.join("\n"), new RegExp(`task ${id} is done`));
    assert.match(lines.join("\n"), /progress {2}\[#{18} {6}\] 75%/);
    const shown = await promisify(execFile)(process.execPath, [bin, "task", id, "--follow", "--json"], {
      env,
    });
    assert.equal((JSON.parse(shown.stdout) as Task).progress?.value, 0.75);
    await client.close();
    worker.kill("SIGTERM");
    assert.equal(await yard.stop(), 0);
  } finally {
    worker.kill("SIGKILL");
    yard.process.kill("SIGKILL");
  }
});
