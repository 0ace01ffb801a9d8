// The monique door over real sockets: what is published, which worker receives which question, and
// how each question ends.

import assert from "node:assert/strict";
import { after, afterEach, describe, test } from "node:test";
import { until } from "../testing/memory-runtime.js";
import { MoniqueYard, type MoniqueYardOptions, type ReceivedMessage } from "../testing/monique-yard.js";

const yards: MoniqueYard[] = [];
afterEach(async () => {
  await Promise.all(yards.splice(0).map((yard) => yard.close()));
});
after(() => assert.equal(yards.length, 0));

async function yardWith(options: MoniqueYardOptions = {}): Promise<MoniqueYard> {
  const yard = new MoniqueYard(options);
  yards.push(yard);
  return yard.open();
}

const withEcho: MoniqueYardOptions = { config: { controllers: { test_echo: 0 } } };
const hex = (frames: readonly Buffer[]) => frames.map((frame) => frame.toString("hex"));
const errorIn = ({ data }: ReceivedMessage) => JSON.parse(data) as { code: number; message: string };

describe("what is pushed is published", () => {
  test("byte for byte, in every form, to whoever subscribed to its tag", async () => {
    const yard = await yardWith();
    const all = await yard.listener();
    const some = await yard.listener("data:test_radio:");
    const pusher = await yard.pusher();
    for (const form of ["d0", "d1", "d2", "d3"] as const) {
      const said = pusher.say({ type: "data", spec: "test_radio", form, data: form });
      assert.deepEqual(hex((await all.next()).frames), hex(said.frames));
    }
    assert.equal((await some.next()).data, "d3");
    // This spec is no queue: a question is only published, and so is its answer.
    const question = pusher.say();
    assert.deepEqual(hex((await all.next()).frames), hex(question.frames));
    const answer = pusher.say({ type: "result", pid: question.id });
    assert.deepEqual(hex((await all.next()).frames), hex(answer.frames));
    assert.deepEqual(some.heard, []);
    assert.deepEqual(await yard.port.reads.queues(), []);
  });

  test("unless its time is over", async () => {
    const yard = await yardWith();
    const all = await yard.listener();
    const pusher = await yard.pusher();
    pusher.say({ type: "data", expiresAt: 1 });
    pusher.say({ type: "result", pid: "x", expiresAt: 1 });
    const late = pusher.say({ expiresAt: 1 });
    pusher.say({ type: "data", data: "fresh", expiresAt: Date.now() + 60_000 });
    const error = await all.next();
    assert.deepEqual([error.type, error.pid, errorIn(error).code], ["error", late.id, 500]);
    assert.equal((await all.next()).data, "fresh");
    assert.equal(yard.door.faults.count("expired"), 2);
  });

  test("and what cannot be read goes by its tag alone", async () => {
    const yard = await yardWith();
    const all = await yard.listener();
    const pusher = await yard.pusher();
    pusher.raw("data:test_secret:1::me", "sealed");
    assert.equal((await all.next()).data, "sealed");
    assert.equal(yard.door.faults.count("unreadable_content"), 1);
  });
});

describe("specs", () => {
  test("that are not registered do not pass, and are counted and shown", async () => {
    const specs = { test_known: { title: "Known", description: "What is known." } };
    const controllers = { test_known: 0 };
    const yard = await yardWith({ config: { specs, allowMessages: ["test_old", "odd"], controllers } });
    const all = await yard.listener();
    const pusher = await yard.pusher();
    for (const spec of ["test_known", "test_new", "test_old", "odd", "other", "test_new"])
      pusher.say({ type: "data", spec });
    pusher.say({ type: "data", spec: "test_known", data: "end" });
    const seen: string[] = [];
    while (seen.at(-1) !== "end") {
      const { spec, data } = await all.next();
      seen.push(data === "end" ? data : spec);
    }
    assert.deepEqual(seen, ["test_known", "test_old", "odd", "end"]);
    assert.equal(yard.door.faults.count("unregistered_spec"), 3);
    // Logged once per spec.
    assert.equal(yard.logged.filter((line) => line.startsWith("unregistered_spec")).length, 2);
    const shown = Object.fromEntries(yard.door.specs().map((spec) => [spec.name, spec]));
    const { port, ...known } = shown.test_known ?? {};
    assert.ok(Number(port) > 0);
    const none = { config: 0, result: 0, error: 0, data: 0 };
    assert.deepEqual(known, {
      ...{ name: "test_known", title: "Known", description: "What is known.", registered: true, queue: true },
      ...{ passed: { ...none, data: 2 }, refused: 0 },
    });
    assert.deepEqual([shown.test_new?.registered, shown.test_new?.refused], [false, 2]);
  });

  test("all pass while nothing is registered, as in the original, whatever the document says of their grammar", async () => {
    const yard = await yardWith();
    const all = await yard.listener();
    const pusher = await yard.pusher();
    const specs = ["example-speaker", "Test_Echo", "echo", "test_echo_2", "test echo", "kill", "test-1_a-b"];
    for (const spec of specs) pusher.say({ type: "data", spec });
    for (const spec of specs) assert.equal((await all.next()).spec, spec);
    assert.equal(yard.door.faults.count("unregistered_spec"), 0);
  });

  test("a controller registers its spec", async () => {
    const config = { controllers: { test_echo: 0 }, specs: { test_other: { title: "t", description: "d" } } };
    const yard = await yardWith({ config });
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    pusher.say({ data: "mine" });
    assert.equal((await worker.next()).data, "mine");
    pusher.say({ spec: "test_neither" });
    await yard.faulted("unregistered_spec");
    assert.equal(yard.door.specs().find(({ name }) => name === "test_echo")?.registered, true);
  });

  test("an error passes whatever its spec if it answers what was asked", async () => {
    const yard = await yardWith({ config: { allowMessages: ["test_known"] } });
    const all = await yard.listener("error");
    const pusher = await yard.pusher();
    const { id } = pusher.say({ spec: "test_known" });
    pusher.say({ type: "error", spec: "test_new", pid: "unknown" });
    pusher.say({ type: "error", spec: "test_new", pid: id });
    assert.equal((await all.next()).pid, id);
    assert.equal(yard.door.faults.count("unregistered_spec"), 1);
  });

  test("and controllers can be added while it runs", async () => {
    const yard = await yardWith({ config: { allowMessages: ["test_echo"], controllers: { test_echo: 0 } } });
    const pusher = await yard.pusher();
    const all = await yard.listener();
    pusher.say({ spec: "test_more" });
    await yard.faulted("unregistered_spec");
    const { config } = yard;
    const controllers = { test_echo: 0, test_more: 0 };
    const added = await yard.door.reload(
      { ...config, allowMessages: ["test_echo", "test_more"], controllers },
      [],
    );
    assert.deepEqual(Object.keys(added), ["controllers.test_more"]);
    yard.addresses = { ...yard.addresses, ...added };
    const worker = await yard.worker("test_more");
    const { id } = pusher.say({ spec: "test_more" });
    assert.equal((await worker.next()).id, id);
    assert.equal((await all.next()).id, id);
    const echo = await yard.worker("test_echo");
    pusher.say();
    assert.equal((await echo.next()).spec, "test_echo");
  });
});

describe("a question of a controller's spec", () => {
  test("is a task: published, given to one worker as it came, and answered as that one answers", async () => {
    const yard = await yardWith(withEcho);
    const all = await yard.listener();
    const worker = await yard.worker("test_echo");
    const pusher = await yard.pusher();
    for (const form of ["d1", "d3", "d0", "d2"] as const) {
      const question = pusher.say({ form, data: `{"in":"${form}"}` });
      const given = await worker.next();
      assert.deepEqual(hex(given.frames), hex(question.frames));
      assert.deepEqual(hex((await all.next()).frames), hex(question.frames));
      const answer = pusher.answer(given, "42", { form });
      assert.deepEqual(hex((await all.next()).frames), hex(answer.frames));
    }
    const { head, progress } = await yard.finished(1);
    assert.deepEqual([head.queue, head.payload.mediaType], ["test_echo", "application/json"]);
    assert.deepEqual([progress?.state, progress?.told], ["done", true]);
    const body = await yard.body(1, "result");
    assert.equal(Buffer.from(body?.bytes ?? []).toString(), "42");
  });

  test("waits for a worker, and for an idle one", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const all = await yard.listener("result");
    for (const data of ["1", "2", "3"]) pusher.say({ data });
    await yard.task(3);
    const worker = await yard.worker("test_echo");
    for (const data of ["1", "2", "3"]) {
      const given = await worker.next();
      assert.equal(given.data, data);
      assert.deepEqual(worker.heard, []);
      pusher.answer(given, data);
      assert.equal((await all.next()).data, data);
    }
  });

  test("is prefetched as far as the config says", async () => {
    const yard = await yardWith({ config: { controllers: { test_echo: 0 }, prefetch: 3 } });
    const pusher = await yard.pusher();
    for (let count = 0; count < 5; count += 1) pusher.say();
    const worker = await yard.worker("test_echo");
    await yard.task(5);
    await until(() => worker.heard.length === 3 || undefined);
    const [first] = worker.heard;
    pusher.answer(first as ReceivedMessage, "1");
    await until(() => worker.heard.length === 4 || undefined);
  });

  test("goes to another when its worker's connection is lost, at once", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const one = await yard.worker("test_echo");
    pusher.say();
    const given = await one.next();
    const other = await yard.worker("test_echo");
    await one.close();
    assert.deepEqual(hex((await other.next()).frames), hex(given.frames));
    // The loss is noticed at once, long before silence would show it.
    assert.ok((await yard.story(1)).includes("waiting: lost: connection_closed"));
  });

  test("goes to another when its time limit passes; the first answer of either counts", async () => {
    const yard = await yardWith({ ...withEcho, queues: { test_echo: { attemptTimeoutMs: 50 } } });
    const pusher = await yard.pusher("w");
    const all = await yard.listener("result");
    const one = await yard.worker("test_echo");
    const question = pusher.say();
    const given = await one.next();
    const other = await yard.worker("test_echo");
    assert.equal((await other.next()).id, question.id);
    pusher.answer(given, "first");
    assert.equal((await all.next()).data, "first");
    pusher.answer(given, "second");
    await yard.faulted("second_answer");
    assert.equal((await yard.finished(1)).progress?.state, "done");
    // Both workers are idle again.
    pusher.say({ data: "a" });
    pusher.say({ data: "b" });
    const again = await Promise.all([one.next(), other.next()]);
    assert.deepEqual(again.map(({ data }) => data).sort(), ["a", "b"]);
    assert.deepEqual(all.heard, []);
  });

  test("asked twice is one task; another question under the same id is dropped", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const { id } = pusher.say();
    pusher.say({ id });
    await yard.faulted("repeated_question");
    pusher.say({ form: "d1", createdAt: 7, data: "1" });
    pusher.say({ form: "d1", createdAt: 7, data: "2" });
    await yard.faulted("id_taken");
    const queues = await yard.port.reads.queues();
    assert.equal(queues[0]?.waiting, 2);
  });

  test("that is no MessagePack is carried as it is", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const all = await yard.listener("result");
    const worker = await yard.worker("test_echo");
    pusher.raw("config:test_echo:q1::me", "sealed question");
    assert.equal((await worker.next()).data, "sealed question");
    pusher.raw("result:test_echo:r1:q1:w", "sealed answer");
    assert.equal((await all.next()).data, "sealed answer");
  });

  test("whose content has another id than its tag is dropped: its answer would not be known", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const { frames } = pusher.say({ type: "data" });
    pusher.raw("config:test_echo:forged::asker", frames[1] as Buffer);
    await yard.faulted("id_not_in_tag");
  });
});

describe("a question ends without a result", () => {
  test("with the worker's own error, as it came", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const all = await yard.listener("error");
    const worker = await yard.worker("test_echo");
    for (const spec of ["test_echo", "error"]) {
      pusher.say();
      const given = await worker.next();
      const data = '{"code":502,"message":"no such number"}';
      const said = pusher.answer(given, data, { type: "error", spec });
      assert.deepEqual(hex((await all.next()).frames), hex(said.frames));
    }
    const { progress } = await yard.finished(2);
    assert.deepEqual(progress?.error, { code: "502", message: "no such number" });
  });

  test("with an error that is retried only when it is the last", async () => {
    const yard = await yardWith({ ...withEcho, queues: { test_echo: { failures: 2 } } });
    const pusher = await yard.pusher();
    const all = await yard.listener("error");
    const worker = await yard.worker("test_echo");
    pusher.say();
    const answer = (given: ReceivedMessage, data: string) => pusher.answer(given, data, { type: "error" });
    answer(await worker.next(), "first");
    answer(await worker.next(), "last");
    assert.equal((await all.next()).data, "last");
    assert.deepEqual(all.heard, []);
  });

  test("with 500 in the client's form when its workers are lost for good", async () => {
    const yard = await yardWith({ ...withEcho, queues: { test_echo: { attempts: 1 } } });
    const pusher = await yard.pusher();
    const all = await yard.listener();
    const worker = await yard.worker("test_echo");
    const question = pusher.say({ form: "d1" });
    await worker.next();
    await all.next();
    await worker.close();
    const error = await all.next();
    assert.deepEqual([error.type, error.spec, error.pid], ["error", "test_echo", question.id]);
    assert.deepEqual([error.form, error.creator, errorIn(error).code], ["d1", "yardmaster", 500]);
  });

  test("with 500 when its time is over, waiting or about to be handed over", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const all = await yard.listener("error");
    const soon = pusher.say({ expiresAt: Date.now() + 500 });
    const past = pusher.say({ expiresAt: Date.now() - 1 });
    const errors = [await all.next(), await all.next()];
    assert.deepEqual(errors.map(({ pid }) => pid).sort(), [soon.id, past.id].sort());
    assert.deepEqual(
      errors.map((error) => errorIn(error).code),
      [500, 500],
    );
    assert.equal((await yard.finished(1)).progress?.state, "expired");
    const worker = await yard.worker("test_echo");
    pusher.say({ data: "live" });
    assert.equal((await worker.next()).data, "live");
  });

  test("with 500 when the answer comes past its own time, or under a spec that is not registered", async () => {
    const config = { controllers: { test_echo: 0 }, allowMessages: ["test_echo"] };
    const yard = await yardWith({ config });
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    const all = await yard.listener("error");
    pusher.say();
    pusher.answer(await worker.next(), "late", { expiresAt: 1 });
    assert.match(errorIn(await all.next()).message, /after it had expired/);
    pusher.say();
    pusher.answer(await worker.next(), "stray", { spec: "test_stray" });
    assert.match(errorIn(await all.next()).message, /test_stray, which is not registered/);
    pusher.say({ data: "next" });
    assert.equal((await worker.next()).data, "next");
  });

  test("with 500 when there is no room, and its client is held back", async () => {
    const yard = await yardWith({ ...withEcho, queues: { test_echo: { maxWaiting: 1 } } });
    const pusher = await yard.pusher();
    const all = await yard.listener("error");
    pusher.say();
    const refused = pusher.say();
    const error = await all.next();
    assert.deepEqual([error.pid, errorIn(error).code], [refused.id, 500]);
    assert.match(errorIn(error).message, /its limit/);
  });
});

describe("an answer from outside", () => {
  test("ends a task that waits", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const all = await yard.listener();
    pusher.say();
    const seen = await all.next();
    const answer = pusher.answer(seen, "from a subscriber");
    assert.deepEqual(hex((await all.next()).frames), hex(answer.frames));
    assert.deepEqual(await yard.story(1), ["waiting: submitted", "done: done by asker"]);
  });

  test("is taken for the worker's, whose own then comes second and is not published", async () => {
    const yard = await yardWith(withEcho);
    const tech = await yard.listener("config:kill", "techOut");
    const all = await yard.listener();
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    const { id } = pusher.say();
    const given = await worker.next();
    await all.next();
    // The sender is taken for the worker, and the worker's own answer then comes too late.
    pusher.answer(given, "outside");
    assert.equal((await all.next()).data, "outside");
    pusher.answer(given, "inside");
    await yard.faulted("second_answer");
    assert.ok(yard.logged.some((line) => line.startsWith("second_answer asker")));
    assert.deepEqual([all.heard, tech.heard, given.id], [[], [], id]);
  });

  test("with the spec `error` is found by its pid alone", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const all = await yard.listener("error");
    const { id } = pusher.say();
    await yard.task(1);
    pusher.say({ type: "error", spec: "error", pid: id, data: '{"code":501,"message":"no"}' });
    assert.equal(errorIn(await all.next()).code, 501);
    assert.equal((await yard.finished(1)).progress?.state, "failed");
  });

  test("to what nobody asked is published, and counted", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const all = await yard.listener("result");
    pusher.say({ type: "result", pid: "nothing", data: "stray" });
    assert.equal((await all.next()).data, "stray");
    assert.equal(yard.door.faults.count("unasked_answer"), 1);
  });
});

describe("telling", () => {
  test("an answer that nobody could hear is told when somebody can", async () => {
    const yard = await yardWith(withEcho);
    const pusher = await yard.pusher();
    const worker = await yard.worker("test_echo");
    pusher.say();
    pusher.answer(await worker.next(), "42");
    await yard.task(1, ({ progress }) => progress?.state === "done");
    const all = await yard.listener("result");
    assert.equal((await all.next()).data, "42");
    assert.equal((await yard.finished(1)).progress?.told, true);
  });
});

describe("other doors", () => {
  test("their tasks become questions, seen by observers, and the answers results", async () => {
    for (const form of ["d3", "d1"] as const) {
      const yard = await yardWith({ config: { controllers: { test_echo: 0 }, form } });
      const all = await yard.listener();
      const worker = await yard.worker("test_echo");
      const pusher = await yard.pusher();
      for (const [mediaType, encoding] of [
        ["application/json; charset=utf-8", "JSON"],
        ["application/msgpack", "MessagePack"],
      ] as const) {
        await yard.hand.submit("test_echo", bodyOf("[1]", mediaType));
        const given = await worker.next();
        assert.deepEqual([given.form, given.type, given.creator], [form, "config", "yardmaster"]);
        assert.deepEqual([given.encoding, given.data, given.expiresAt], [encoding, "[1]", 0]);
        if (form === "d1") assert.equal(given.id, Buffer.from(given.id, "base64").toString("base64"));
        else assert.match(given.id, /^[A-Za-z0-9]{40}$/);
        assert.deepEqual(hex((await all.next()).frames), hex(given.frames));
        const answer = pusher.answer(given, "[2]", { form });
        assert.deepEqual(hex((await all.next()).frames), hex(answer.frames));
      }
      const result = await yard.body(2, "result");
      assert.equal(Buffer.from(result?.bytes ?? []).toString(), "[2]");
      await yard.close();
      yards.length = 0;
    }
  });

  test("their workers answer monique's questions, in the client's form", async () => {
    const yard = await yardWith({ queueNames: ["test_echo"] });
    const all = await yard.listener("", "out");
    const pusher = await yard.pusher();
    yard.hand.join("hand/w", "test_echo");
    const question = pusher.say({ form: "d2", data: "[1]" });
    await all.next();
    const held = await yard.hand.next("assign");
    assert.equal(Buffer.from(held.task.payload.bytes ?? []).toString(), "[1]");
    yard.hand.done(held, bodyOf("[2]", "application/json"));
    const answer = await all.next();
    assert.deepEqual([answer.type, answer.form, answer.pid], ["result", "d2", question.id]);
    assert.deepEqual([answer.data, answer.encoding, answer.creator], ["[2]", "JSON", "yardmaster"]);
  });

  test("an answer to a task of theirs is known by its id when no worker owes it", async () => {
    const yard = await yardWith(withEcho);
    const worker = await yard.worker("test_echo");
    const pusher = await yard.pusher();
    await yard.hand.submit("test_echo", bodyOf("1", "application/json"));
    const given = await worker.next();
    await worker.close();
    await yard.task(1, ({ progress }) => progress?.state === "waiting");
    pusher.answer(given, "2");
    assert.equal((await yard.finished(1)).progress?.state, "done");
  });
});

function bodyOf(text: string, mediaType: string) {
  const bytes = Buffer.from(text);
  return { mediaType, size: bytes.length, bytes };
}
