// The plain Python worker of docs/http.md, exactly as written there, with a real dispatcher.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { connect } from "@yardmaster/sdk";
import { startMeddlingProxy } from "../end-to-end/meddling-proxy.js";
import { serveYard } from "../end-to-end/served-yard.js";
import { patience, waitMs } from "../patience.js";
import { withoutModule } from "./foreign.js";

const page = readFileSync(new URL("../../../docs/http.md", import.meta.url), "utf8");
const script = /```python\n([\s\S]*?)```/.exec(page)?.[1] ?? "";

const skip = withoutModule("http.client");

test("the Python worker of docs/http.md works, survives cut streams, and ends when drained", {
  ...patience,
  skip,
}, async () => {
  assert.ok(script.split("\n").length < 60, "it has under 60 lines");
  const yard = await serveYard();
  const proxy = await startMeddlingProxy(yard.url);
  const client = await connect(yard.url);
  const worker = spawn("python3", ["-u", "-c", script, proxy.url, "py", "snake"], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const exited = once(worker, "exit");
  try {
    const queue = "py";
    const run = async (texts: readonly string[]) => {
      const submitted = await Promise.all(texts.map((text) => client.submit(text, { queue, attempts: 1 })));
      const bodies = await Promise.all(submitted.map((one) => client.result(one, { waitMs })));
      assert.deepEqual(
        bodies.map((body) => body.text()),
        texts.map((text) => text.toUpperCase()),
      );
    };
    await run(Array.from({ length: 20 }, (_, index) => `task ${index}`));
    proxy.cutStreams();
    await run(Array.from({ length: 20 }, (_, index) => `after the cut ${index}`));
    let lost = 0;
    proxy.meddle = (path) => (path.endsWith("/payload") && lost++ === 0 ? "lose" : "pass");
    await run(["x".repeat(400_000), "x".repeat(20_000)]);
    assert.equal(lost, 2, "a payload whose answer was lost is asked for again");
    const bytes = await client.call(Buffer.from([0xe4, 0x80]), { queue, waitMs });
    assert.equal(bytes.body.text(), "\u00c4\u0080");
    await client.drainWorker("http/snake");
    assert.deepEqual(await exited, [0, null]);
  } finally {
    worker.kill("SIGKILL");
    await client.close();
    await proxy.close();
    await yard.stop();
  }
});
