// Components in TypeScript with a real dispatcher, in both forms, and a worker that is killed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MoniqueComponent, type MoniqueData, MoniqueError, type MoniqueQuestion } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

describe("monique components", patience, () => {
  let yard: ServedYard;
  const components: MoniqueComponent[] = [];

  before(async () => {
    yard = await serveYard({ doors: { monique: { controllers: { example_calculator: 0 } } } });
  });
  after(async () => {
    await Promise.all(components.map((component) => component.close()));
    await yard.stop();
  });

  const address = (name: string) => `tcp://${yard.doors.monique?.[name]}`;
  const controller = () => address("controllers.example_calculator");

  function component(creator: string, form: "d1" | "d3"): MoniqueComponent {
    const scheduler = {
      ...{ in: address("in"), out: address("out") },
      ...{ techIn: address("techIn"), techOut: address("techOut") },
    };
    const made = new MoniqueComponent({ scheduler, creator, form });
    components.push(made);
    return made;
  }

  const textOf = async (answer: Promise<MoniqueData>) => (await answer).data.toString();
  const json = (value: unknown) => JSON.stringify(value);

  for (const form of ["d1", "d3"] as const) {
    test(`ask and answer through a controller, in ${form}`, async () => {
      const asker = component(`asker-${form}`, form);
      const worker = await component(`worker-${form}`, form).answer(
        "example_calculator",
        ({ data }) => {
          const { first, second } = JSON.parse(data.toString());
          if (typeof first !== "number") throw Object.assign(new Error("first is no number"), { code: 502 });
          return json({ answer: first + second });
        },
        controller(),
      );
      const sums = Array.from({ length: 20 }, (_, first) =>
        textOf(asker.ask("example_calculator", json({ first, second: 7 }))),
      );
      assert.deepEqual(
        await Promise.all(sums),
        sums.map((_, first) => json({ answer: first + 7 })),
      );
      await assert.rejects(asker.ask("example_calculator", "{}"), (error) => {
        assert.ok(error instanceof MoniqueError);
        assert.deepEqual([error.code, error.message], [502, "first is no number"]);
        return true;
      });
      await worker.stop();
    });

    test(`ask and answer by subscription, publish and hear, in ${form}`, async () => {
      const [one, two] = [component(`one-${form}`, form), component(`two-${form}`, form)];
      await one.answer("example_echo", ({ data }) => ({ data, encoding: "MessagePack" }));
      const answer = await two.ask("example_echo", Buffer.of(0x93, 1, 2, 3), { encoding: "MessagePack" });
      assert.deepEqual([answer.encoding, answer.data.toString("hex")], ["MessagePack", "93010203"]);
      const heard = new Promise<MoniqueData>(
        (resolve) => void two.subscribe(`example_radio-${form}`, resolve),
      );
      await two.subscribe(`example_radio-${form}`, () => {});
      one.publish(`example_radio-${form}`, '"a song"');
      const { data, creator } = await heard;
      assert.deepEqual([data.toString(), creator], ['"a song"', `one-${form}`]);
    });

    test(`kill a question, and stop waiting for one, in ${form}`, async () => {
      const asker = component(`killer-${form}`, form);
      const begun: string[] = [];
      let isAborted = false;
      let begin = () => {};
      const hasBegun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      const worker = await component(`slow-${form}`, form).answer(
        "example_calculator",
        ({ id }, signal) =>
          new Promise((_resolve, reject) => {
            begun.push(id);
            begin();
            signal.addEventListener("abort", () => {
              isAborted = true;
              reject(signal.reason);
            });
          }),
        controller(),
      );
      const answer = asker.ask("example_calculator", "{}");
      answer.catch(() => {});
      await hasBegun;
      asker.kill(begun[0] ?? "");
      await assert.rejects(answer, { code: 301, message: "task killed" });
      while (!isAborted) await new Promise((resolve) => setTimeout(resolve, 5));
      await worker.stop();
      await assert.rejects(asker.ask("example_calculator", "{}", { expiresMs: 50 }), { code: 500 });
      const abort = new AbortController();
      const unheard = asker.ask("example_calculator", "{}", { signal: abort.signal });
      abort.abort();
      await assert.rejects(unheard, { name: "AbortError" });
    });
  }

  test("every message has its time, its expiry, and the message it follows from", async () => {
    const [one, two] = [component("dated-1", "d3"), component("dated-2", "d3")];
    const questions: MoniqueQuestion[] = [];
    await one.answer("example_dated", (question) => {
      questions.push(question);
      return { data: "1", expiresMs: 60_000 };
    });
    const before = Date.now();
    let asked = "";
    const answer = await two.ask("example_dated", "2", {
      pid: "parent",
      expiresMs: 60_000,
      onAsked: (id) => {
        asked = id;
      },
    });
    const [question] = questions;
    assert.deepEqual([question?.id, question?.pid, answer.pid], [asked, "parent", asked]);
    for (const message of [question, answer]) {
      assert.ok(message !== undefined && message.createdAt >= before);
      assert.ok(message.expiresAt >= message.createdAt + 59_000);
    }
    const heard = new Promise<MoniqueData>((resolve) => void two.subscribe("example_dated-news", resolve));
    await two.subscribe("example_dated-news", () => {});
    const id = one.publish("example_dated-news", "3", { pid: asked, expiresMs: 60_000 });
    const data = await heard;
    assert.deepEqual([data.id, data.pid], [id, asked]);
    assert.ok(data.createdAt >= before && data.expiresAt > data.createdAt);
  });

  test("a question is killed by the id under which it was asked", async () => {
    const asker = component("regretful", "d3");
    const answer = asker.ask("example_calculator", "{}", { onAsked: (id) => asker.kill(id) });
    await assert.rejects(answer, (error) => {
      assert.ok(error instanceof MoniqueError);
      assert.deepEqual([error.code, error.answer?.spec], [301, "error"]);
      return true;
    });
  });

  test("a creator that no tag can hold is refused", () => {
    for (const creator of ["a:b", ""])
      assert.throws(() => component(creator, "d3"), /creator: .* expected a name without colons/);
  });

  test("a component says that it is there", async () => {
    const stop = component("watched", "d3").monitor({ name: "clock", everyMs: 10 });
    let workers: { id: string; state: string }[] = [];
    while (!workers.some(({ id }) => id === "monique/component.clock")) {
      workers = ((await (await fetch(`${yard.url}/v1/workers`)).json()) as { items: typeof workers }).items;
    }
    stop();
  });

  test("http asks, a component answers", async () => {
    const worker = await component("bridged", "d3").answer("example_calculator", () => "42", controller());
    const path = `${yard.url}/v1/queues/example_calculator/tasks?wait=120s`;
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(path, { method: "POST", headers, body: "{}" });
    const { id, state } = (await answer.json()) as { id: string; state: string };
    assert.equal(state, "done");
    const result = await fetch(`${yard.url}/v1/tasks/${id}/result`);
    assert.deepEqual([await result.text(), result.headers.get("content-type")], ["42", "application/json"]);
    await worker.stop();
  });
});
