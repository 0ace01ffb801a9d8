// Two dispatchers with one Postgres database, real processes, and what may happen to the owner.
// After each fault everything that was acknowledged is there, with its acknowledged outcome.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { measured } from "../patience.js";
import { CutProxy } from "./cut-proxy.js";
import { NodeProcess, standbyCode } from "./node-process.js";
import { OutsideChecker } from "./outside-checker.js";
import { type Server, TestServer, withoutPostgres } from "./test-server.js";

/** On a busy machine a write may take longer than the default allows. */
const cluster = process.env.YARD_MEASURE === "1" ? {} : { silenceMs: 4000 };

interface NodeJson {
  readonly name: string;
  readonly role: string;
  readonly epoch: number | null;
  readonly lag: number;
  readonly advertise: string | null;
}

describe("a cluster of two", { skip: withoutPostgres }, () => {
  let server: Server;
  before(async () => {
    server = await TestServer.start({ fsync: "off" });
  });
  after(() => server.destroy());

  /** Two nodes under load; the first owns the yard. */
  async function pair(t: TestContext, urls: readonly [string, string] = [server.url, server.url]) {
    await server.sql("drop schema if exists yardmaster cascade");
    const nodes = [
      new NodeProcess({ name: "n1", url: urls[0], cluster }),
      new NodeProcess({ name: "n2", url: urls[1], cluster }),
    ] as const;
    t.after(() => Promise.all(nodes.map((node) => node.destroy())));
    for (const node of nodes) {
      await node.start();
      while (nodes[0].ownerships === 0) await pause(10);
    }
    // From now on a step-down is accepted, and the standby knows the owner.
    while ((await listed(nodes[1])).length < 2) await pause(20);
    const checker = new OutsideChecker(nodes.map(({ url }) => url));
    t.after(() => checker.giveUp());
    checker.start();
    await checker.more(50);
    checker.measure();
    return { first: nodes[0], second: nodes[1], checker };
  }

  async function isWhole(
    t: TestContext,
    checker: OutsideChecker,
    what: string,
    msMax: number,
  ): Promise<void> {
    await checker.more(50);
    await checker.stop();
    measured(t, what, checker.longestMs, msMax);
    t.diagnostic(`${checker.acknowledged} acknowledged, ${checker.completed} completed`);
    assert.ok(checker.completed > 0);
    assert.deepEqual(await checker.faults(), []);
  }

  async function unfolded(): Promise<number> {
    const text = "select o.position - f.position as count from yardmaster.owner o, yardmaster.fold f";
    const [row] = await server.sql<{ count: number }>(text);
    return row?.count ?? 0;
  }

  const ask = (node: NodeProcess, path: string, method = "GET") => fetch(`${node.url}${path}`, { method });
  const listed = async (node: NodeProcess) =>
    ((await (await ask(node, "/v1/nodes")).json()) as { items: NodeJson[] }).items;

  test("a standby answers four paths, and names the owner for all others", async (t) => {
    const { first, second, checker } = await pair(t);
    assert.equal((await ask(second, "/healthz")).status, 200);
    const ready = await ask(second, "/readyz");
    assert.equal(ready.status, 503);
    const { code, role, detail } = (await ready.json()) as Record<string, string>;
    assert.deepEqual([code, role], ["not_ready", "standby"]);
    assert.match(detail ?? "", /^standby/);
    assert.equal((await ask(first, "/readyz")).status, 200);
    for (const [method, path] of [
      ["GET", "/"],
      ["GET", "/v1/queues"],
      ["GET", "/nowhere"],
      ["POST", "/v1/queues/q/tasks"],
      ["POST", "/v1/nodes:step-down"],
    ] as const) {
      const refused = await ask(second, path, method);
      assert.equal(refused.status, 503, path);
      assert.equal(refused.headers.get("retry-after"), "1");
      const problem = (await refused.json()) as Record<string, string>;
      assert.deepEqual([problem.code, problem.owner], ["not_owner", first.url], path);
    }
    for (const node of [first, second]) {
      assert.deepEqual(
        (await listed(node)).map(({ name, role, advertise }) => [name, role, advertise]),
        [
          ["n1", "owner", first.url],
          ["n2", "standby", second.url],
        ],
      );
    }
    const metrics = await (await ask(second, "/metrics")).text();
    assert.match(metrics, /yardmaster_cluster_role\{node="n2",role="standby"\} 1/);
    await isWhole(t, checker, "longest pause without a fault", 600);
  });

  test("a node answers to the name that it advertises, and to no other", async (t) => {
    await server.sql("drop schema if exists yardmaster cascade");
    const advertise = "http://n1.example.org:7420";
    const node = new NodeProcess({ name: "n1", url: server.url, cluster: { ...cluster, advertise } });
    t.after(() => node.destroy());
    await node.start();
    const statusAt = async (host: string) => {
      const [response] = await once(
        get(`${node.url}/healthz`, { headers: { host }, agent: false }),
        "response",
      );
      (response as IncomingMessage).resume();
      return (response as IncomingMessage).statusCode;
    };
    assert.equal(await statusAt("n1.example.org:7420"), 200);
    assert.equal(await statusAt("n2.example.org:7420"), 403);
  });

  test("the owner is killed", async (t) => {
    const { first, second, checker } = await pair(t);
    await first.end("SIGKILL");
    while (second.ownerships === 0) await pause(10);
    const metrics = await (await ask(second, "/metrics")).text();
    assert.match(metrics, /yardmaster_takeovers_total\{reason="(session-ended|silent)"\} 1/);
    await first.start();
    await isWhole(t, checker, "outage after kill -9", 600);
  });

  /** A million tasks take minutes to submit: only where times are measured. */
  const waiting = Number(process.env.YARD_WAITING ?? (process.env.YARD_MEASURE === "1" ? 100_000 : 1000));

  for (const [signal, msMax] of [
    ["SIGKILL", 600],
    ["SIGSTOP", 1200],
  ] as const) {
    test(`the owner of ${waiting} waiting tasks ends by ${signal}: the standby has them in memory`, async (t) => {
      const { first, second, checker } = await pair(t);
      for (let left = waiting; left > 0; left -= 1000) {
        const lines = '{"payload":"waits"}\n'.repeat(Math.min(left, 1000));
        const headers = { "Content-Type": "application/x-ndjson" };
        const url = `${first.url}/v1/queues/backlog/tasks:batch`;
        assert.equal((await fetch(url, { method: "POST", headers, body: lines })).status, 200);
      }
      while (((await listed(first)).find(({ role }) => role === "standby")?.lag ?? waiting) > 30)
        await pause(50);
      // The tasks have been waiting for a while: they are in the tables too.
      while ((await unfolded()) > 30) await pause(50);
      checker.measure();
      if (signal === "SIGKILL") await first.end(signal);
      else first.signal(signal);
      while (second.ownerships === 0) await pause(10);
      await checker.more(1);
      const queue = (await (await ask(second, "/v1/queues/backlog")).json()) as { waiting: number };
      assert.equal(queue.waiting, waiting);
      if (signal === "SIGKILL") await first.start();
      else first.signal("SIGCONT");
      await isWhole(
        t,
        checker,
        `outage after ${signal} with ${waiting} waiting tasks`,
        waiting > 100_000 ? Number.POSITIVE_INFINITY : msMax,
      );
    });
  }

  test("the owner is stopped and goes on: it is fenced, and answers nothing false", async (t) => {
    const { first, second, checker } = await pair(t);
    const submitted = await ask(first, "/v1/queues/other/tasks", "POST");
    const { id } = (await submitted.json()) as { id: string };
    first.signal("SIGSTOP");
    while (second.ownerships === 0) await pause(10);
    await checker.more(1);
    assert.equal((await ask(second, `/v1/tasks/${id}:cancel`, "POST")).status, 200);
    // Sent while it is stopped, and read when it goes on.
    const asked = [1, 2, 3, 4].map(() => ask(first, `/v1/tasks/${id}`).catch(() => undefined));
    first.signal("SIGCONT");
    for (let turn = 0; turn < 20; turn++) {
      asked.push(ask(first, `/v1/tasks/${id}`).catch(() => undefined));
      await pause(10);
    }
    for (const answer of await Promise.all(asked)) {
      if (answer === undefined) continue;
      const { state, code } = (await answer.json()) as { state?: string; code?: string };
      assert.ok(state === "cancelled" || code === "not_owner", `${answer.status} ${state} ${code}`);
    }
    while (first.exits.length === 0) await pause(10);
    assert.equal(first.exits[0], standbyCode);
    await isWhole(t, checker, "outage after SIGSTOP", 1200);
  });

  test("the owner is cut off from the database", async (t) => {
    const proxy = await CutProxy.start(server.folder);
    t.after(() => proxy.close());
    const { first, second, checker } = await pair(t, [proxy.url, server.url]);
    const submitted = await ask(first, "/v1/queues/other/tasks", "POST");
    const { id } = (await submitted.json()) as { id: string };
    proxy.cut();
    while (second.ownerships === 0) await pause(10);
    await checker.more(1);
    assert.equal((await ask(second, `/v1/tasks/${id}:cancel`, "POST")).status, 200);
    const stale = await ask(first, `/v1/tasks/${id}`);
    assert.equal(stale.status, 503);
    assert.equal(((await stale.json()) as { code: string }).code, "not_owner");
    proxy.heal();
    while (first.exits.length === 0) await pause(10);
    assert.equal(first.exits[0], standbyCode);
    await isWhole(t, checker, "outage after a cut", 1200);
  });

  test("the owner steps down, and back", async (t) => {
    const { first, second, checker } = await pair(t);
    assert.equal((await ask(first, "/v1/nodes:step-down", "POST")).status, 202);
    while (second.ownerships === 0) await pause(10);
    const metrics = await (await ask(second, "/metrics")).text();
    assert.match(metrics, /yardmaster_takeovers_total\{reason="stepped-down"\} 1/);
    while (first.exits.length === 0) await pause(10);
    assert.equal(first.exits[0], standbyCode);
    await checker.more(50);
    // Its restarted process is a standby again when it is listed.
    while ((await ask(second, "/v1/nodes:step-down", "POST")).status !== 202) await pause(100);
    while (first.ownerships < 2) await pause(10);
    await isWhole(t, checker, "longest outage of a step-down", 600);
  });

  test("an owner that is alone does not step down", async (t) => {
    await server.sql("drop schema if exists yardmaster cascade");
    const node = new NodeProcess({ name: "n1", url: server.url, cluster });
    t.after(() => node.destroy());
    await node.start();
    while ((await ask(node, "/readyz")).status !== 200) await pause(20);
    const refused = await ask(node, "/v1/nodes:step-down", "POST");
    assert.equal(refused.status, 404);
    assert.match(((await refused.json()) as { detail: string }).detail, /no standby/);
  });

  test("the owner finds the database put back: it ends with 4, and nothing starts it again", async (t) => {
    await server.sql("drop schema if exists yardmaster cascade");
    const node = new NodeProcess({ name: "n1", url: server.url, cluster });
    t.after(() => node.destroy());
    await node.start();
    while ((await ask(node, "/readyz")).status !== 200) await pause(20);
    assert.equal((await ask(node, "/v1/queues/q/tasks", "POST")).status, 201);
    await server.sql("update yardmaster.owner set epoch = 0, position = 0, safe = 0, instance = ''");
    while (node.exits.length === 0) await pause(10);
    assert.equal(node.exits[0], 4);
    const unit = readFileSync(new URL("../../../docs/deploy/yardmaster.service", import.meta.url), "utf8");
    assert.match(unit, /^RestartPreventExitStatus=4$/m);
  });

  test("a database that is put back while it is loaded: the dispatcher ends with 4 as well", async (t) => {
    await server.sql("drop schema if exists yardmaster cascade");
    // Alone, it takes over and loads at once.
    const node = new NodeProcess({ name: "n1", url: server.url, settings: { cluster: undefined } });
    t.after(() => node.destroy());
    await node.start();
    assert.equal((await ask(node, "/v1/queues/q/tasks", "POST")).status, 201);
    await node.end("SIGKILL");
    const waiting = `select 1 from pg_locks where not granted and relation = 'yardmaster.items'::regclass`;
    const putBack = server.sql(`do $$ begin
      lock table yardmaster.items in access exclusive mode;
      while not exists (${waiting}) loop perform pg_sleep(0.01); end loop;
      update yardmaster.owner set epoch = 0, position = 0, safe = 0, instance = '';
    end $$`);
    const held = `select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted
      and relation = 'yardmaster.items'::regclass`;
    while ((await server.sql(held)).length === 0) await pause(10);
    await assert.rejects(node.start(), /ended with 4/);
    await putBack;
  });

  test("both are killed and started: one owns the yard, and nothing is lost", async (t) => {
    const { first, second, checker } = await pair(t);
    for (let round = 0; round < 2; round++) {
      await Promise.all([first.end("SIGKILL"), second.end("SIGKILL")]);
      const before = first.ownerships + second.ownerships;
      await Promise.all([first.start(), second.start()]);
      while (first.ownerships + second.ownerships === before) await pause(10);
      await checker.more(20);
      const roles = await Promise.all(
        [first, second].map(async (node) => (await ask(node, "/readyz")).status),
      );
      assert.deepEqual(roles.sort(), [200, 503]);
    }
    await isWhole(t, checker, "longest outage with both down", 5000);
  });
});
