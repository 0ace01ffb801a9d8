// Spans of a real dispatcher, through the SDK with which its process was started.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { patience } from "../patience.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));
const printer = new URL("./span-printer.js", import.meta.url).href;
const traceId = "0af7651916cd43dd8448eb211c80319c";

test("a dispatcher that is asked to makes spans; one that is not makes none", {
  ...patience,
}, async () => {
  for (const traces of [true, false]) {
    const folder = mkdtempSync(join(tmpdir(), "yard-"));
    const closed = Object.fromEntries(
      ["pingpong", "pulse", "udp", "monique", "scaler"].map((name) => [name, false]),
    );
    const config = { engine: "memory", traces, doors: { http: { listen: "127.0.0.1:0" }, ...closed } };
    writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
    const child = spawn(process.execPath, ["--import", printer, bin, "serve", "--json"], { cwd: folder });
    const exited = once(child, "exit");
    let spans = "";
    child.stderr.on("data", (chunk) => {
      spans += chunk;
    });
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const url = `http://${(JSON.parse(line) as { doors: { http: { listen: string } } }).doors.http.listen}`;
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const { id } = (await (
      await fetch(`${url}/v1/queues/traced/tasks`, { method: "POST", headers })
    ).json()) as {
      id: string;
    };
    await fetch(`${url}/v1/tasks/${id}:cancel`, { method: "POST" });
    child.kill("SIGTERM");
    await exited;
    rmSync(folder, { recursive: true });
    const printed = [...spans.matchAll(/^span (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ""));
    assert.deepEqual(
      printed.map(({ name, traceId, queue }) => [name, traceId, queue]),
      traces
        ? [
            ["submit", traceId, "traced"],
            ["wait", traceId, "traced"],
          ]
        : [],
    );
  }
});
