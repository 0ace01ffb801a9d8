// kill -9 of a busy udp calculator: no connection closes, so its task moves when its silence was
// noticed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { UdpCalculator, UdpClient } from "@yardmaster/sdk";
import { Inbox } from "../interop/inbox.js";
import { measured, patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const sdk = fileURLToPath(new URL("../../../packages/sdk/dist/index.js", import.meta.url));
/**
 * The silence until it is polled; two polls of 0.2 s, half a second apart; and one second for a
 * slow machine.
 */
const pollMs = 2_000;
const elsewhereMsMax = pollMs + 900 + 1_000;

test("kill -9 of a busy udp calculator", patience, async (t) => {
  const yard = await serveYard({ doors: { udp: { activity_poll_sec: pollMs / 1000 } } });
  const dispatcher = `udp://${yard.doors.udp?.client_address}`;
  const script = `import { UdpCalculator } from ${JSON.stringify(sdk)};
    await UdpCalculator.open({ dispatcher: ${JSON.stringify(dispatcher)}, form: "program", work: () => {
      // After its ack was sent.
      setImmediate(() => console.log("given"));
      return new Promise(() => {});
    } });`;
  const doomed = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = new Inbox<string>();
  createInterface({ input: doomed.stdout }).on("line", lines.put);
  const client = await UdpClient.open({ dispatcher });
  const answer = client.submit({ x: 1 });
  assert.equal(await lines.next(), "given");
  const begun = new Inbox<number>();
  const heir = await UdpCalculator.open({
    dispatcher,
    work: () => {
      begun.put(performance.now());
      return "done elsewhere";
    },
  });
  const killedAt = performance.now();
  doomed.kill("SIGKILL");
  const tookMs = (await begun.next()) - killedAt;
  assert.equal((await answer).result, "done elsewhere");
  measured(t, `polled after ${pollMs} ms; from kill -9 to running elsewhere`, tookMs, elsewhereMsMax);
  const task = (await (await fetch(`${yard.url}/v1/tasks/1`)).json()) as { story: { cause: string }[] };
  assert.deepEqual(
    task.story.map(({ cause }) => cause),
    ["submitted", "assigned", "lost: silence", "assigned", "done"],
  );
  await Promise.all([client.close(), heir.stop()]);
  assert.equal(await yard.stop(), 0);
});
