// Quotas of principals at the ZeroMQ doors: a greedy client is slowed down, a modest one is not.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const digest = (secret: string) => createHash("sha256").update(secret).digest("hex");
const token = "the-token-of-the-observer";
const password = "correct-horse-battery";
const queues = { pingpong: "pp", scaler: "sc", monique: "mq" } as const;
const rate = 5;

function client(quotas: object) {
  return { passwords: [{ sha256: digest(password) }], rights: { submit: ["*"], read: ["*"] }, quotas };
}

describe("quotas at the ZeroMQ doors", patience, () => {
  let yard: ServedYard;

  before(async () => {
    const security = { mechanisms: ["PLAIN"] };
    const principals = {
      observer: { tokens: [{ sha256: digest(token) }], rights: { read: ["*"], operate: ["*"] } },
      greedy: client({ submissionsPerSecond: rate }),
      modest: client({}),
      lone: client({ connections: 1 }),
    };
    yard = await serveYard({
      access: { principals },
      doors: {
        pingpong: { security, queue: queues.pingpong },
        scaler: { security, queue: queues.scaler },
        monique: { security, controllers: { [queues.monique]: 0 } },
      },
    });
  });
  after(() => yard.stop());

  async function metric(name: string, label: string): Promise<number> {
    const headers = { Authorization: `Bearer ${token}` };
    const text = await (await fetch(`${yard.url}/metrics`, { headers })).text();
    const line = text
      .split("\n")
      .find((each) => each.startsWith(`yardmaster_${name}{`) && each.includes(label));
    return Number(line?.split(" ").at(-1) ?? 0);
  }

  const submissionsOf = (name: string) => metric("principal_submissions_total", `principal="${name}"`);

  function opened(door: keyof typeof queues, username: string) {
    const { clients, listen, in: input, out } = yard.doors[door] ?? {};
    const port = (address = "") => address.split(":").at(-1);
    const url = door === "monique" ? `${input}?out=${port(out)}` : (clients ?? listen);
    return connect(`${door}://${url}`, { security: { plain: { username, password } } });
  }

  for (const door of Object.keys(queues) as (keyof typeof queues)[]) {
    test(`${door}: a greedy client slows down itself and nobody else`, async () => {
      const [greedy, modest] = [await opened(door, "greedy"), await opened(door, "modest")];
      const beganAt = performance.now();
      const [before, calm] = [await submissionsOf("greedy"), await submissionsOf("modest")];
      const to = door === "monique" ? { queue: queues.monique } : {};
      const calls: Promise<unknown>[] = [];
      for (let at = 0; at < 100; at++) calls.push(greedy.call("greedy", to).catch(() => undefined));
      for (let at = 0; at < 50; at++) calls.push(modest.call("modest", to).catch(() => undefined));
      while ((await submissionsOf("modest")) < calm + 50) await pause(5);
      const taken = (await submissionsOf("greedy")) - before;
      const allowed = rate + 1 + (rate * (performance.now() - beganAt)) / 1000;
      assert.ok(taken <= allowed, `${taken} submissions, ${allowed} are allowed`);
      assert.ok((await metric("principal_refusals_total", 'principal="greedy",reason="submissions"')) > 0);
      // It is slowed down, not refused: its next ones follow.
      while ((await submissionsOf("greedy")) <= before + taken) await pause(20);
      await Promise.all([greedy.close(), modest.close()]);
    });
  }

  test("a connection beyond the quota is refused, and there is room when one closes", async () => {
    const first = await opened("pingpong", "lone");
    first.call("one").catch(() => undefined);
    while ((await submissionsOf("lone")) < 1) await pause(5);
    const second = await opened("pingpong", "lone");
    second.call("two").catch(() => undefined);
    while ((await metric("faults_total", 'door="pingpong",kind="over_quota"')) === 0) await pause(5);
    assert.equal(await submissionsOf("lone"), 1);
    await first.close();
    // What it sent to a connection that was refused is lost.
    while ((await submissionsOf("lone")) < 2) {
      second.call("three").catch(() => undefined);
      await pause(50);
    }
    await second.close();
  });
});
