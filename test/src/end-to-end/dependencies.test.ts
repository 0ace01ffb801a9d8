// Tasks that depend on others, with a real dispatcher: over http, the SDK and the command, with
// kill -9 in the middle of a graph; and the commands of docs/dependencies.md.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect, type GraphItem, RefusedError, type Task, UnsupportedError, work } from "@yardmaster/sdk";
import { skipReason } from "../interop/foreign.js";
import { Inbox } from "../interop/inbox.js";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));
const page = readFileSync(fileURLToPath(new URL("../../../docs/dependencies.md", import.meta.url)), "utf8");

const parts = 20;
/** Number of parts that end before the kill. */
const partsBefore = 8;

function graph(): GraphItem[] {
  const names = Array.from({ length: parts }, (_, index) => `part-${index}`);
  return [
    { name: "join", queue: "steps", payload: "join", after: names },
    ...names.map((name, index) => ({ name, queue: "steps", payload: String(index), after: ["split"] })),
    { name: "split", queue: "steps", payload: "split" },
  ];
}

/** Runs a step with the results of its dependencies, which it reads from the dispatcher. */
async function startWorker(yard: ServedYard, ended: Inbox<string>) {
  const reader = await connect(yard.url);
  const options = { queue: "steps", concurrency: 3, leaseMs: 3_000, onError: () => {} };
  const worker = await work(yard.url, options, async (payload, { after = [] }) => {
    const results = await Promise.all(after.map((id) => reader.result(id)));
    const words = payload.text();
    ended.put(words);
    if (words === "split") return "100";
    if (words !== "join") return String(Number(results[0]?.text()) + Number(words));
    return String(results.reduce((sum, result) => sum + Number(result.text()), 0));
  });
  return { worker, reader };
}

test("a graph goes on after kill -9 in its middle, in its order", patience, async () => {
  let yard = await serveYard({ graceSeconds: 1 });
  const submitting = await connect(yard.url);
  const tasks = await submitting.submitGraph(graph());
  const ids = new Map(tasks.map(({ name, id }) => [name, id]));
  const joinId = ids.get("join") ?? "";
  assert.match((await submitting.task(joinId)).why?.message ?? "", /^It waits for 20 of 20 tasks: /);
  await submitting.close();

  const ended = new Inbox<string>();
  const first = await startWorker(yard, ended);
  assert.equal(await ended.next(), "split");
  for (let count = 0; count < partsBefore; count += 1) assert.notEqual(await ended.next(), "join");
  yard = await yard.restart("SIGKILL");
  await Promise.all([first.worker.stop({ graceMs: 0 }).catch(() => {}), first.reader.close()]);

  const second = await startWorker(yard, ended);
  const result = await second.reader.result(joinId);
  assert.equal(Number(result.text()), parts * 100 + (parts * (parts - 1)) / 2);
  const seen = new Map<string, Task>();
  for (const [name, id] of ids) seen.set(name, await second.reader.task(id));
  const split = seen.get("split");
  const join = seen.get("join");
  for (const [name, task] of seen) {
    assert.equal(task.state, "done", name);
    if (!name.startsWith("part-")) continue;
    assert.deepEqual(task.after, [split?.id]);
    assert.ok((task.startedAt ?? "") >= (split?.finishedAt ?? "z"), `${name} started early`);
    assert.ok((join?.startedAt ?? "") >= (task.finishedAt ?? "z"), `join started before ${name} had ended`);
  }
  await second.worker.stop();
  await second.reader.close();
  assert.equal(await yard.stop(), 0);
});

test(
  "blocked and kept tasks are the same after kill -9; retry brings the cancelled ones back",
  patience,
  async () => {
    let yard = await serveYard();
    const before = await connect(yard.url);
    const [a, b, c] = await before.submitGraph([
      { name: "a", queue: "q", payload: "a" },
      { name: "b", queue: "q", payload: "b", after: ["a"] },
      { name: "c", queue: "q", payload: "c", after: ["b"] },
    ]);
    assert.ok(a && b && c);
    const other = await before.submit("d", { queue: "q", after: [a.id], ifFailed: "run" });
    await before.close();
    yard = await yard.restart("SIGKILL");
    const client = await connect(yard.url);
    assert.equal((await client.task(c.id)).why?.message, `It waits for 1 of 1 task: ${b.id}.`);
    assert.deepEqual((await client.task(a.id)).dependents?.toSorted(), [b.id, other.id].toSorted());
    await client.cancel(a.id);
    yard = await yard.restart("SIGKILL");
    const after = await connect(yard.url);
    await assert.rejects(after.result(c.id), { code: "dependency_failed" });
    assert.equal((await after.task(other.id)).why?.code, "no_worker");
    const again = await after.retry(a.id, { dependents: true });
    assert.equal(again.dependents?.length, 1);
    const worker = await work(yard.url, { queue: "q" }, (payload) => payload.text().toUpperCase());
    const retried = await after.task(again.dependents?.[0] ?? "");
    assert.deepEqual([retried.retries, retried.after], [b.id, [again.id]]);
    assert.equal((await after.result(retried.id)).text(), "B");
    await worker.stop();
    await Promise.all([client.close(), after.close()]);
    assert.equal(await yard.stop(), 0);
  },
);

test(
  "the SDK rejects cycles, unknown dependencies, and dependencies at a door without them",
  patience,
  async () => {
    const yard = await serveYard({ doors: { pingpong: {} } });
    const client = await connect(yard.url);
    const loop = [
      { name: "a", queue: "q", payload: "", after: ["b"] },
      { name: "b", queue: "q", payload: "", after: ["a"] },
    ];
    await assert.rejects(client.submitGraph(loop), (fault) => {
      assert.ok(fault instanceof RefusedError);
      assert.deepEqual([fault.status, fault.code], [400, "dependency_cycle"]);
      return true;
    });
    await assert.rejects(client.submit("x", { queue: "q", after: ["77"] }), { code: "unknown_dependency" });
    const answers = [];
    for await (const answer of client.submitMany([{ payload: "x", after: ["77"] }], { queue: "q" }))
      answers.push(answer);
    assert.equal(answers[0]?.error?.code, "unknown_dependency");
    const pingpong = await connect(`pingpong://${yard.doors.pingpong?.clients}`);
    await assert.rejects(pingpong.submitGraph(loop), UnsupportedError);
    await assert.rejects(pingpong.submit("x", { after: ["1"] }), UnsupportedError);
    await Promise.all([pingpong.close(), client.close()]);
    assert.equal(await yard.stop(), 0);
  },
);

test("an event tells of a task that is unblocked", patience, async () => {
  const yard = await serveYard();
  const client = await connect(yard.url);
  const first = await client.submit("1", { queue: "q" });
  const second = await client.submit("2", { queue: "q", after: [first.id] });
  const abort = new AbortController();
  const events = client.events({ signal: abort.signal });
  await events.next();
  const worker = await work(yard.url, { queue: "q" }, () => "ok");
  for await (const { type, data } of events) {
    const task = data as Task;
    if (type !== "task" || task.id !== second.id || task.state !== "done") continue;
    const causes = task.story.map(({ cause }) => cause);
    assert.deepEqual(causes, ["submitted", `unblocked: task ${first.id} ended done`, "assigned", "done"]);
    break;
  }
  abort.abort();
  await worker.stop();
  await client.close();
  assert.equal(await yard.stop(), 0);
});

test("the commands of docs/dependencies.md work", {
  ...patience,
  skip: skipReason("curl", ["--version"]),
}, async () => {
  const tour = [...page.matchAll(/<!-- tour of dependencies -->\n```sh\n([\s\S]*?)```/g)].map(
    ([, lines]) => lines,
  );
  assert.ok(tour.length >= 5, "the page has fewer commands than it had");
  const yard = await serveYard();
  const npx = `npx() { shift; '${process.execPath}' '${bin}' "$@"; }\n`;
  const script = npx + tour.join("").replace("http://127.0.0.1:7420", yard.url);
  const { stdout, stderr, status } = spawnSync("sh", ["-e", "-c", script], {
    cwd: yard.folder,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  const expected = [
    /"why":\{"code":"blocked","message":"It waits for 1 of 1 task: 1\."\}.*"after":\["1"\]/,
    /task 3 is accepted in queue film/,
    / {2}before +tasks 2, 3\n/,
    /\{"items":\[\{"name":"film","id":"6","existing":false\},\{"name":"left","id":"4","existing":false\},/,
    /"after":\["1"\]\}.*"after":\["4","5"\]/,
    /FRAME 1/,
    /task 7 is cancelled/,
    /task 7 is retried as task 9/,
    /10 +upload +waiting/,
  ];
  for (const pattern of expected) assert.match(stdout, pattern);
  assert.equal(await yard.stop(), 0);
});
