// libzmq components that behave like the original library: questions are pushed once, even while
// the dispatcher is down; PUSH and SUB reconnect by themselves, the SUB later than the PUSH. Jobs
// of 0.1, 5 and 20 s, and a dispatcher that ends in the middle.

import assert from "node:assert/strict";
import { test } from "node:test";
import { monique } from "@yardmaster/dialects";
import * as zmq from "zeromq";
import { after, LastingYard, portOf } from "./peers/lasting-yard.js";

const spec = "example_clock";
/** The SUB of the waiting component reconnects long after its PUSH. */
const pushDialsMs = 100;
const subDialsMs = 700;
const jobsSeconds = [0.1, 5, 20];

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`monique: ${signal} in the middle of jobs of 0.1, 5 and 20 s`, { timeout: 180_000 }, async () => {
    const yard = new LastingYard();
    const anywhere = { in: "127.0.0.1:0", out: "127.0.0.1:0", techIn: "127.0.0.1:0", techOut: "127.0.0.1:0" };
    const { monique: first = {} } = await yard.start({
      monique: { ...anywhere, controllers: { [spec]: 0 } },
    });
    const { in: input, out, techIn, techOut } = first;
    const controller = first[`controllers.${spec}`];
    const fixed = { in: input, out, techIn, techOut, controllers: { [spec]: portOf(controller) } };
    const worker = work(String(controller), String(input));
    const client = new OriginalClient(String(input), String(out));
    // Another subscriber, which receives everything and reconnects earlier than the one that asks.
    const other = new zmq.Subscriber({ reconnectInterval: pushDialsMs });
    other.subscribe("");
    other.connect(`tcp://${out}`);
    await after(2_000);
    for (const seconds of jobsSeconds) await client.ask(seconds);
    await after(1_000);
    await yard.end(signal);
    for (const seconds of [0.1, 0.1, 0.1]) await client.ask(seconds);
    await after(1_000);
    await yard.start({ monique: fixed });
    for (const { id, seconds } of client.asked) {
      while (!client.answers.has(id)) await after(20);
      assert.equal(client.answers.get(id), String(seconds));
    }
    let tasks = await yard.tasks();
    // The record that an answer was delivered is written after the delivery.
    while (!tasks.every(({ told }) => told)) tasks = await yard.tasks();
    assert.deepEqual(
      tasks.map(({ state }) => state),
      client.asked.map(() => "done"),
    );
    for (const socket of [...worker, client, other]) socket.close();
    await yard.close();
  });
}

/** Works on one question at a time, like the library: takes it, works, answers. */
function work(controller: string, input: string): { close(): void }[] {
  const [pull, push] = [new zmq.Pull({ reconnectInterval: pushDialsMs }), pusher(input)];
  pull.connect(`tcp://${controller}`);
  const session = sessionOf("worker");
  void (async () => {
    for await (const frames of pull) {
      const { header, text } = read(frames);
      await after(Number(text) * 1_000);
      await push.send(monique.writeMessage(session.answer(header, Buffer.from(text), "JSON", now()), "d3"));
    }
  })();
  return [pull, push];
}

class OriginalClient {
  readonly asked: { readonly id: string; readonly seconds: number }[] = [];
  readonly answers = new Map<string, string>();
  readonly #push: zmq.Push;
  readonly #sub = new zmq.Subscriber({ reconnectInterval: subDialsMs });
  readonly #session = sessionOf("asker");

  constructor(input: string, out: string) {
    this.#push = pusher(input);
    this.#sub.subscribe(`result:${spec}`, `error:${spec}`);
    this.#sub.connect(`tcp://${out}`);
    void (async () => {
      for await (const frames of this.#sub) {
        const { header, text } = read(frames);
        this.answers.set(header.pid, text);
      }
    })();
  }

  async ask(seconds: number): Promise<void> {
    const question = this.#session.ask({ spec, data: Buffer.from(String(seconds)) }, undefined, now());
    this.asked.push({ id: question.id, seconds });
    await this.#push.send(monique.writeMessage(question, "d3"));
  }

  close(): void {
    this.#push.close();
    this.#sub.close();
  }
}

function pusher(input: string): zmq.Push {
  const push = new zmq.Push({ reconnectInterval: pushDialsMs });
  push.connect(`tcp://${input}`);
  return push;
}

let lastId = 0;

function sessionOf(creator: string): monique.MoniqueComponentSession<undefined> {
  const makeId = () => {
    lastId += 1;
    return `${creator}${lastId}`.padEnd(40, "x");
  };
  return new monique.MoniqueComponentSession<undefined>({ creator, form: "d3", makeId });
}

function read(frames: readonly Buffer[]): { header: monique.MoniqueHeader; text: string } {
  const reading = monique.readMessage(frames);
  assert.ok(reading.ok && reading.content !== undefined);
  return {
    header: monique.plainHeader(reading.header),
    text: monique.dataIn(reading.content, frames[1] as Buffer).toString(),
  };
}

function now() {
  return { instant: performance.now(), wall: Date.now() } as Parameters<
    monique.MoniqueComponentSession<undefined>["answer"]
  >[3];
}
