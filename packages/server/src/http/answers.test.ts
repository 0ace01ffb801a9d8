// Clients that request much and read nothing: unread answers are bounded, and other clients are
// served.

import assert from "node:assert/strict";
import { test } from "node:test";
import { YardUnderTest } from "./yard-under-test.js";

const timeout = 60_000;

function gets(path: string, count: number): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(count);
}

async function fill(yard: YardUnderTest, count: number): Promise<number> {
  const line = `${JSON.stringify({ payload: "x", key: undefined })}\n`;
  await yard.ask("POST", "/v1/queues/many/tasks:batch", { body: line.repeat(count) });
  return (await yard.ask("GET", "/v1/tasks?limit=1000")).text.length;
}

test("a connection has one answer in preparation, however many it asks for", { timeout }, async (t) => {
  const yard = await new YardUnderTest().open();
  t.after(() => yard.close());
  const answerBytes = await fill(yard, 1000);
  const mute = yard.connect(gets("/v1/tasks?limit=1000", 200));
  mute.pause();
  await yard.eventually(async () => (yard.door.answerBytes > 0 ? true : undefined));
  // If the flood were prepared, these requests would give it the time.
  for (let round = 0; round < 20; round += 1) assert.equal((await yard.ask("GET", "/healthz")).status, 200);
  assert.ok(yard.door.answerBytes <= answerBytes + 1000, `${yard.door.answerBytes} bytes are on their way`);
  mute.destroy();
  await yard.eventually(async () => (yard.door.answerBytes === 0 ? true : undefined));
});

test("pipelined requests are answered whole and in order", { timeout }, async (t) => {
  const yard = await new YardUnderTest().open();
  t.after(() => yard.close());
  const first = await yard.submit("order", "1");
  const paths = Array.from({ length: 50 }, (_, index) =>
    index % 2 === 0 ? `/v1/tasks/${first.id}` : "/v1/queues",
  );
  const last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const heard = await yard.hear(paths.map((path) => gets(path, 1)).join("") + last);
  const bodies = [...heard.matchAll(/\{"(id|items|ok)"/g)].map(([, name]) => name);
  assert.deepEqual(bodies, [...paths.map((path) => (path === "/v1/queues" ? "items" : "id")), "ok"]);
});

test("a connection with too many requests unanswered is closed", { timeout }, async (t) => {
  const yard = await new YardUnderTest().open();
  t.after(() => yard.close());
  await fill(yard, 1000);
  const greedy = yard.connect(gets("/v1/tasks?limit=1000", 1000));
  greedy.on("error", () => {}).resume();
  await new Promise((resolve) => greedy.once("close", resolve));
  assert.equal((await yard.ask("GET", "/healthz")).status, 200);
});

test("requests that wait on one connection raise no warning of a leak", { timeout }, async (t) => {
  const yard = await new YardUnderTest().open();
  const warnings: string[] = [];
  const take = ({ name }: Error) => warnings.push(name);
  process.on("warning", take);
  t.after(() => {
    process.off("warning", take);
    return yard.close();
  });
  const claim = "POST /v1/queues/waiting:claim?worker=w&wait=100ms HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const heard = await yard.hear(claim.repeat(20) + last);
  assert.equal(heard.split("HTTP/1.1 204").length - 1, 20);
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});
