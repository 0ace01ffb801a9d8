import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { findings } from "./findings.js";
import { doorAddress, firstLines } from "./first-lines.js";
import { cliSubmit, curlSubmit, quoted, sdkSubmit } from "./shell-lines.js";
import { workerLines } from "./worker-lines.js";

const given = {
  base: "http://127.0.0.1:7420",
  queue: "render",
  payload: `it's "$HOME" \`id\` \\`,
  contentType: "text/plain",
  options: { key: "a b", delay: "" },
  hasToken: true,
};

test("a line pasted into a shell passes the text unchanged, and runs nothing else", () => {
  assert.equal(
    execFileSync("sh", ["-c", `printf %s ${quoted(given.payload)}`], { encoding: "utf8" }),
    given.payload,
  );
  const line = curlSubmit(given);
  assert.match(line, /Authorization: Bearer \$YARD_TOKEN/);
  assert.match(line, /tasks\?key=a\+b'/);
  assert.match(cliSubmit(given), /--key 'a b' --token/);
  assert.match(
    sdkSubmit({ ...given, payload: '{"a":1}', contentType: "application/json" }),
    /client\.submit\(\{"a":1\}, \{ queue: "render", key: "a b" \}\)/,
  );
});

test("a worker's line names the door where the browser can reach it", () => {
  const lines = workerLines(
    "render",
    { http: { listen: "0.0.0.0:7420" }, pingpong: { clients: "127.0.0.1:1", workers: "127.0.0.1:2" } },
    { base: "http://yard.example:7420", hasToken: false },
  );
  assert.equal(lines[0]?.line, "yardmaster work http://yard.example:7420 --queue render -- ./your-program");
  assert.match(lines[1]?.line ?? "", /^yardmaster work pingpong:\/\/127\.0\.0\.1:2 /);
  assert.match(lines[1]?.note ?? "", /doors\.pingpong\.queue is render/);
  assert.equal(
    doorAddress({ clients: "127.0.0.1:5562", workers: "127.0.0.1:5563" }),
    "clients 127.0.0.1:5562, workers :5563",
  );
  const first = firstLines("curl", { base: "http://h:1", hasToken: false, task: "9", attempt: 12 });
  assert.match(first.finish ?? "", /tasks\/9\/attempts\/12:done/);
});

test("every line that needs the token has it, at the address of this page", () => {
  const page = { base: "https://yard.example/y", hasToken: true };
  const facts = { ...page, task: "9", attempt: 12 };
  const doors = { http: { listen: "0.0.0.0:7420" }, udp: { listen: "0.0.0.0:5555" } };
  const [http, udp] = workerLines("render", doors, page).map(({ line }) => line);
  assert.equal(udp, "yardmaster work udp://yard.example:5555 -- ./your-program");
  const lines = (["curl", "cli", "ts"] as const).flatMap((language) =>
    Object.values(firstLines(language, facts)).filter((line) => line !== undefined),
  );
  for (const line of [http, ...lines]) {
    assert.match(line, /YARD_TOKEN/);
    assert.match(line, /https:\/\/yard\.example\/y/);
  }
  assert.equal(firstLines("dialect", facts).finish, undefined, "it has no third step");
});

test("the palette finds tasks by number, names, verbs, and searches at last", () => {
  const worker = { id: "pingpong/gpu-04", door: "pingpong", state: "busy", running: 1 } as never;
  const now = () => 3;
  assert.equal(findings("1204", [], [], now)[0]?.does, "task");
  const found = findings("gpu", [], [worker], now);
  assert.deepEqual(
    found.map(({ does }) => does),
    ["worker", "drain", "search"],
  );
  assert.equal(found[0]?.aside, "worker, pingpong, 3 tasks running");
  assert.equal(findings("drain gpu", [], [worker], now)[0]?.does, "drain");
  assert.equal(findings("", [], [], now).length, 8);
});
