// Our pulse worker on a real door: the handler's arguments, the URL's settings, and its reaction to
// RESTART.

import assert from "node:assert/strict";
import { createConnection } from "node:net";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pulse } from "@yardmaster/dialects";
import { work } from "@yardmaster/sdk";
import { Inbox } from "../interop/inbox.js";
import { type ServedYard, serveYard } from "./served-yard.js";

interface Told {
  readonly task: string | undefined;
  readonly signal: AbortSignal;
}

describe("the pulse worker of the SDK", { timeout: 60_000 }, () => {
  let yard: ServedYard;
  let dir: string;
  before(async () => {
    yard = await serveYard({ doors: { pulse: {} } });
    dir = resolve(yard.folder, String(yard.doors.pulse?.dir));
  });
  after(async () => assert.equal(await yard.stop(), 0));

  test("the handler is told which task it is", async () => {
    const worker = await work(`pulse:${dir}`, {}, (_payload, { task }) => `task ${task}`);
    const url = `${yard.url}/v1/queues/pulse/tasks?wait=30s`;
    const task = (await (await fetch(url, { method: "POST", body: "x" })).json()) as Record<string, string>;
    const result = await (await fetch(`${yard.url}/v1/tasks/${task.id}/result`)).text();
    assert.equal(result, `task ${task.id}`);
    await worker.stop();
  });

  test("next_pulse and the interval are the URL's: it pulses within the second it announces", async () => {
    const worker = await work(`pulse:${dir}?nextPulse=1s&pulse=100ms`, {}, () => "");
    const seen = new Set<string>();
    let state: string | undefined = "idle";
    while (seen.size < 5 && state === "idle") {
      const { items } = (await (await fetch(`${yard.url}/v1/workers`)).json()) as {
        items: { state: string; lastSeenAt: string }[];
      };
      const mine = items.filter((item) => item.state !== "lost");
      state = mine[0]?.state ?? "idle";
      if (mine[0] !== undefined) seen.add(mine[0].lastSeenAt);
    }
    assert.equal(state, "idle");
    await worker.stop();
  });

  test("RESTART ends one whose URL says so, and the one at work is interrupted", async () => {
    const begun = new Inbox<Told>();
    const worker = await work(`pulse:${dir}?restart=end`, {}, (_payload, { task, signal }) => {
      begun.put({ task, signal });
      return new Promise<string>((_done, fail) => {
        signal.addEventListener("abort", () => fail(signal.reason));
      });
    });
    const accepted = await fetch(`${yard.url}/v1/queues/pulse/tasks`, { method: "POST", body: "x" });
    const { id } = (await accepted.json()) as { id: string };
    const { signal } = await begun.next();
    const { worker: name } = (await (await fetch(`${yard.url}/v1/tasks/${id}`)).json()) as { worker: string };
    const socket = createConnection(join(dir, `${name.split("/")[1]}.sock`));
    socket.on("error", () => {});
    socket.write(pulse.writeControl({ type: "RESTART", extraSize: 0n }, "document"));
    await worker.ended;
    assert.equal(signal.aborted, true);
    socket.destroy();
  });
});
