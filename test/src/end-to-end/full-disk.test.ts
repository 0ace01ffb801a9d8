// A disk without room under a real dispatcher: it says so, accepts nothing more, ends with 1, and what it had acknowledged
// is there when it is started again with room.

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

function serve(folder: string, around: readonly string[]) {
  const [command = "", ...args] = [...around, process.execPath, bin, "serve", "--json"];
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    log += chunk;
  });
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit");
  const url = once(lines, "line").then(([line]) => {
    const { doors } = JSON.parse(String(line)) as { doors: { http: { listen: string } } };
    return `http://${doors.http.listen}`;
  });
  return { child, url, ended, log: () => log };
}

test("a disk without room ends it, and nothing that was acknowledged is lost", {
  ...patience,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "yard-full-"));
  const closed = { pingpong: false, pulse: false, udp: false, monique: false, scaler: false };
  const doors = { http: { listen: "127.0.0.1:0" }, ...closed };
  writeFileSync(join(folder, "yardmaster.json"), JSON.stringify({ doors }));
  // The system's own limit on the size of a file: 4 MB, in blocks of 1024 or of 512 bytes.
  const limited = serve(folder, ["sh", "-c", 'ulimit -f 8192; exec "$@"', "sh"]);
  const url = await limited.url;
  const acknowledged: string[] = [];
  const body = Buffer.alloc(3000, "x");
  for (;;) {
    const answer = await fetch(`${url}/v1/queues/q/tasks`, { method: "POST", body }).catch(() => undefined);
    if (answer?.status !== 201) {
      if (answer !== undefined) assert.equal(answer.status, 503);
      break;
    }
    acknowledged.push(((await answer.json()) as { id: string }).id);
  }
  const [code] = await limited.ended;
  assert.equal(code, 1);
  assert.match(limited.log(), /full/);
  assert.ok(acknowledged.length > 100, `${acknowledged.length} were acknowledged`);

  const roomy = serve(folder, []);
  const again = await roomy.url;
  for (const id of acknowledged) {
    const task = (await (await fetch(`${again}/v1/tasks/${id}`)).json()) as { state: string };
    assert.equal(task.state, "waiting", `task ${id}`);
  }
  roomy.child.kill("SIGTERM");
  assert.deepEqual(await roomy.ended, [0, null]);
  rmSync(folder, { recursive: true });
});
