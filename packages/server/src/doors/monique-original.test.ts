// The monique door with peers that behave like the original programs, or follow the document
// literally.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { MemoryStore } from "@yardmaster/engines";
import { pack, unpack } from "msgpackr";
import { until } from "../testing/memory-runtime.js";
import {
  MoniqueYard,
  type MoniqueYardOptions,
  type Pusher,
  type ReceivedMessage,
} from "../testing/monique-yard.js";

const withEcho = { config: { controllers: { test_echo: 0 } } };

let yard: MoniqueYard;

async function openYard(options: MoniqueYardOptions = withEcho): Promise<MoniqueYard> {
  yard = await new MoniqueYard(options).open();
  return yard;
}

afterEach(() => yard.close());

/** A message as the document shows it: a plain tag, and content with the documented keys. */
function say(
  pusher: Pusher,
  type: string,
  body: Readonly<Record<string, string>>,
  { id = "a1", pid = "", spec = "test_echo" } = {},
): void {
  const common = { id, pid, creator: "me", created_at: 1_700_000_000_000, expires_at: 0, spec };
  pusher.raw(`${type}:${spec}:${id}:${pid}:me`, pack({ ...common, encoding: "JSON", ...body }));
}

function kill(tech: Pusher, id: string): void {
  tech.say({ spec: "kill", data: JSON.stringify({ task_id: id }) });
}

function contentIn({ frames }: ReceivedMessage): Record<string, unknown> {
  return unpack(frames[1] as Buffer) as Record<string, unknown>;
}

describe("an answer to the document's letter", () => {
  test("has an empty error beside its result", async () => {
    await openYard();
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    const all = await yard.listener("result");
    const { id } = pusher.say();
    await worker.next();
    say(pusher, "result", { result: "13", error: "" }, { pid: id });
    const { data, pid } = await all.next();
    assert.deepEqual([data, pid], ["13", id]);
    assert.equal((await yard.finished(1)).progress?.state, "done");
  });

  test("with both in it is refused, the attempt fails with the reason, and the worker is free", async () => {
    await openYard();
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    const all = await yard.listener("error");
    const { id } = pusher.say();
    await worker.next();
    say(pusher, "result", { result: "13", error: "14" }, { pid: id });
    const { spec, pid, data } = await all.next();
    assert.deepEqual([spec, pid], ["test_echo", id]);
    assert.match(data, /The worker's answer cannot be read: two_outcomes\./);
    assert.equal((await yard.finished(1)).progress?.state, "failed");
    pusher.say({ data: "next" });
    assert.equal((await worker.next()).data, "next");
  });

  for (const [what, frames] of [
    ["of an unknown type", (pid: string) => [`answer:test_echo:a1:${pid}:me`, "x"]],
    ["without an id", (pid: string) => [`result:test_echo::${pid}:me`, "x"]],
    ["of three frames", (pid: string) => [`result:test_echo:a1:${pid}:me`, "x", "y"]],
  ] as const) {
    test(`${what} fails the attempt, which would wait for ever`, async () => {
      await openYard();
      const pusher = await yard.pusher();
      const worker = await yard.worker("test_echo");
      const { id } = pusher.say();
      await worker.next();
      // Not an answer: a question of the worker itself, which names its parent.
      pusher.raw(`config::a2:${id}:me`, "x");
      pusher.raw(...frames(id));
      const { progress } = await yard.task(1, (task) => task.progress?.state === "failed");
      assert.match(progress?.error?.message ?? "", /cannot be read/);
      pusher.say({ data: "next" });
      assert.equal((await worker.next()).data, "next");
    });
  }
});

describe("an answer under another spec", () => {
  test("is refused and counted, and its client hears why where it listens", async () => {
    await openYard();
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    const all = await yard.listener();
    const { id } = pusher.say();
    assert.equal((await all.next()).id, id);
    pusher.answer(await worker.next(), "stray", { spec: "test_other" });
    const { type, spec, pid, data } = await all.next();
    assert.deepEqual([type, spec, pid], ["error", "test_echo", id]);
    assert.match(data, /answered under spec test_other; the question's is test_echo/);
    assert.equal(yard.door.faults.count("spec_mismatch"), 1);
    assert.equal((await yard.finished(1)).progress?.state, "failed");
  });

  test("if it is an error, keeps its words; under `error` it is right as it is", async () => {
    await openYard();
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    const all = await yard.listener("error");
    for (const [given, published] of [
      ["test_other", "test_echo"],
      ["error", "error"],
    ] as const) {
      const { id } = pusher.say();
      const data = JSON.stringify({ code: 502, message: "bad input" });
      pusher.answer(await worker.next(), data, { type: "error", spec: given });
      const { spec, pid, ...error } = await all.next();
      assert.deepEqual([spec, pid, JSON.parse(error.data)], [published, id, JSON.parse(data)]);
    }
    assert.equal(yard.door.faults.count("spec_mismatch"), 1);
  });
});

test("what we answer ourselves has the keys of the question", async () => {
  await openYard({ config: { controllers: { test_echo: 0 }, form: "d1" } });
  const pusher = await yard.pusher();
  const all = await yard.listener("error:");
  say(pusher, "config", { config: "{}", result: "", error: "" }, { id: "q1" });
  const { head } = await yard.task(1);
  yard.port.post({ type: "cancel-asked", task: head.id, by: "me" });
  const answer = await all.next();
  const content = contentIn(answer);
  assert.deepEqual(
    [answer.form, content.pid, content.data, content.type],
    ["d4", "q1", undefined, undefined],
  );
  assert.equal((JSON.parse(String(content.error)) as { code: number }).code, 301);
});

/**
 * By the end, the door has had the messages that others pushed before, because it has read later
 * ones. `pusher` must be a connection that is no longer held back. Nobody asked for its answers.
 */
async function roundTrips(pusher: Pusher): Promise<void> {
  for (const times of [1, 2]) {
    pusher.say({ type: "result", pid: `unasked-${times}`, spec: "test_echo" });
    await yard.faulted("unasked_answer", times);
  }
}

describe("a client whose SUB is there later than its PUSH", () => {
  test("hears the answer, although somebody else listens already", async () => {
    await openYard({ ...withEcho, settleMs: 2_000 });
    const [worker, workers] = [await yard.worker("test_echo"), await yard.pusher("worker")];
    const other = await yard.listener("result");
    const client = await yard.pusher();
    const { id } = client.say();
    void worker.next().then((question) => workers.answer(question, "13"));
    await roundTrips(workers);
    for (let unasked = 0; unasked < 2; unasked += 1) assert.notEqual((await other.next()).pid, id);
    const own = yard.lateListener("result");
    assert.equal((await own.next()).pid, id);
    assert.equal((await yard.finished(1)).progress?.told, true);
  });

  test("hears that its question is killed, although the kill overtakes the question", async () => {
    await openYard({ ...withEcho, settleMs: 2_000 });
    const others = await yard.pusher("other");
    // Its subscription is in place when a younger connection than `others` is no longer held back.
    const other = await yard.listener("error");
    const [client, tech] = [await yard.pusher(), await yard.pusher("killer", "techIn")];
    const { id } = client.say();
    kill(tech, id);
    await roundTrips(others);
    assert.deepEqual(other.heard, []);
    const own = yard.lateListener("error");
    assert.equal((await own.next()).pid, id);
  });

  test("is read at once if its connections have a name in common", async () => {
    await openYard({ ...withEcho, settleMs: 60_000 });
    const tech = await yard.pusher("asker", "techIn", "me");
    yard.lateListener("result", "me");
    const client = await yard.pusher("asker", "in", "me");
    const { id } = client.say();
    assert.equal((await yard.task(1)).head.queue, "test_echo");
    kill(tech, id);
    await yard.task(1, ({ progress }) => progress?.state === "cancelled");
  });

  test("is told later, and the others once", async () => {
    await openYard();
    const [worker, workers] = [await yard.worker("test_echo"), await yard.pusher("worker")];
    const other = await yard.listener("result");
    const client = await yard.pusher("asker", "in", "me");
    const { id } = client.say();
    workers.answer(await worker.next(), "13");
    assert.equal((await other.next()).pid, id);
    assert.equal((await yard.task(1, ({ progress }) => progress?.state === "done")).progress?.told, false);
    const own = yard.lateListener("result", "me");
    assert.equal((await own.next()).pid, id);
    assert.equal((await yard.finished(1)).progress?.told, true);
    assert.deepEqual(other.heard, []);
  });
});

test("the monitoring of the seed-day library is shown: config:monitor, and a time that never comes", async () => {
  await openYard();
  const tech = await yard.pusher("old", "techIn");
  const report = { sync_time: 1_700_000_000_000, name: "radio", is_alive: true, message: "" };
  const content = {
    ...{ id: "i1", pid: "", creator: "old", created_at: 1, expires_at: 1e17, spec: "monitor" },
    ...{ encoding: "JSON", type: "config", data: Buffer.from(JSON.stringify(report)) },
  };
  tech.raw("config:monitor:i1::old", pack(content));
  await until(async () => {
    const workers = await yard.port.reads.workers();
    return workers.some(({ info }) => info?.name === "radio" && info.alive === true) || undefined;
  });
  assert.equal(yard.door.faults.count("bad_monitoring") + yard.door.faults.count("bad_content"), 0);
});

test("a question that comes while the dispatcher stops is answered in its next life: its client does not ask again", async () => {
  const store = new MemoryStore();
  await openYard({ ...withEcho, store });
  const pusher = await yard.pusher();
  const worker = await yard.worker("test_echo");
  pusher.say();
  const first = await worker.next();
  const stopped = yard.runtime.stop(30_000);
  const { id } = pusher.say({ data: "while stopping" });
  await yard.task(2);
  pusher.answer(first, "13");
  await stopped;
  await yard.close();
  await openYard({ ...withEcho, store });
  const heir = await yard.worker("test_echo");
  const next = await until(async () => {
    const question = await heir.next();
    return question.id === id ? question : undefined;
  });
  assert.equal(next.data, "while stopping");
});
