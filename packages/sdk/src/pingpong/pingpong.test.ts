// The worker and the client against a broker that is a bare ROUTER controlled by the test.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { type Peer, Router } from "@yardmaster/zmtp";
import { work } from "../dialects.js";
import { patience } from "../testing/patience.js";
import { PingpongClient, PingpongError } from "./client.js";
import { PingpongWorker, type PingpongWorkerOptions } from "./worker.js";

const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));

interface ReceivedFrames {
  readonly peer: Peer;
  readonly frames: string[];
}

/** A ROUTER, and the messages of its peers, to be awaited in order. */
class TestBroker {
  readonly router: Router;
  readonly #said: ReceivedFrames[] = [];
  readonly #takers: ((said: ReceivedFrames) => void)[] = [];
  endpoint = "";

  constructor() {
    this.router = new Router({
      handover: true,
      onMessage: (peer, frames) => {
        const said = { peer, frames: frames.map(String) };
        const taker = this.#takers.shift();
        if (taker) taker(said);
        else this.#said.push(said);
      },
    });
  }

  async open(): Promise<this> {
    this.endpoint = (await this.router.bind("tcp://127.0.0.1:0")).endpoint;
    return this;
  }

  next(): Promise<ReceivedFrames> {
    const said = this.#said.shift();
    return said ? Promise.resolve(said) : new Promise((resolve) => this.#takers.push(resolve));
  }

  async expect(...frames: string[]): Promise<Peer> {
    const { peer, frames: said } = await this.next();
    assert.deepEqual(said, frames);
    return peer;
  }
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openBroker(): Promise<TestBroker> {
  const broker = await new TestBroker().open();
  closing.push(() => broker.router.close({ lingerMs: 0 }));
  return broker;
}

function startWorker(broker: TestBroker, options: Partial<PingpongWorkerOptions>): PingpongWorker {
  const worker = new PingpongWorker({ broker: broker.endpoint, work: (parts) => parts, ...options });
  closing.push(() => worker.stop());
  return worker;
}

describe("the pingpong worker", patience, () => {
  test("says READY, pings, and answers a job with its result", async () => {
    const broker = await openBroker();
    startWorker(broker, { pingMs: 20, work: async (parts) => [...parts, Buffer.from("!")] });
    const peer = await broker.expect("", "READY");
    await broker.expect("", "PING");
    broker.router.sendTo(peer, bytes("", "PONG"));
    broker.router.sendTo(peer, bytes("", "a", "b"));
    for (;;) {
      const { frames } = await broker.next();
      if (frames[1] === "PING") continue;
      assert.deepEqual(frames, ["", "a", "b", "!"]);
      return;
    }
  });

  test("reconnects to a broker that is silent, and says READY again", async () => {
    const broker = await openBroker();
    startWorker(broker, { pingMs: 60_000, brokerTimeoutMs: 20, timeouts: 2 });
    const first = await broker.expect("", "READY");
    const second = await broker.expect("", "READY");
    assert.notEqual(first, second);
    assert.equal(first.isOpen, false);
  });

  test("a job that throws is not answered: the connection is closed, and it is ready for the next", async () => {
    const broker = await openBroker();
    const errors: unknown[] = [];
    startWorker(broker, {
      work: (parts) => {
        if (String(parts) === "bad") throw new Error("cannot");
        return parts;
      },
      onError: (error) => errors.push(error),
    });
    const first = await broker.expect("", "READY");
    broker.router.sendTo(first, bytes("", "bad"));
    const second = await broker.expect("", "READY");
    assert.notEqual(first, second);
    assert.match(String(errors), /cannot/);
    broker.router.sendTo(second, bytes("", "good"));
    await broker.expect("", "good");
  });

  test("a job that throws while the worker stops is not answered, either", async () => {
    const broker = await openBroker();
    let fail: (error: Error) => void = () => {};
    const begun = new Promise<void>((begin) => {
      startWorker(broker, {
        work: () => {
          begin();
          return new Promise((_resolve, reject) => {
            fail = reject;
          });
        },
      });
    });
    broker.router.sendTo(await broker.expect("", "READY"), bytes("", "job"));
    await begun;
    const stopped = closing.pop()?.();
    fail(new Error("late"));
    await stopped;
    // Its earlier messages would come before those of the other one.
    startWorker(broker, {});
    await broker.expect("", "READY");
  });

  test("stopping lets the job in hand finish", async () => {
    const broker = await openBroker();
    let worker: PingpongWorker | undefined;
    const begun = new Promise<void>((begin) => {
      worker = startWorker(broker, {
        work: (parts, signal) => {
          begin();
          return new Promise((resolve) => signal.addEventListener("abort", () => resolve(parts)));
        },
      });
    });
    broker.router.sendTo(await broker.expect("", "READY"), bytes("", "job"));
    await begun;
    await worker?.stop();
    await broker.expect("", "job");
  });

  test("in program form it answers the client that the job named", async () => {
    const broker = await openBroker();
    startWorker(broker, { form: "program", identity: "me" });
    const peer = await broker.expect("", "READY");
    assert.equal(String(peer.identity), "me");
    broker.router.sendTo(peer, bytes("", "job", "client-1", "", ""));
    await broker.expect("", "JOB COMPLETE", "client-1", "", "job");
  });

  test("work() takes the form and the constants from the URL", async () => {
    const broker = await openBroker();
    const url = broker.endpoint.replace("tcp:", "pingpong:");
    const parameters = "form=program&ping=20ms&brokerTimeout=40ms&timeouts=2";
    const worker = await work(`${url}?${parameters}`, { name: "me" }, (payload) => `${payload.text()}, done`);
    closing.push(() => worker.stop({ graceMs: 0 }));
    // A stall of the machine makes it start over before it has the job, so each READY gets the job.
    let heard = await broker.next();
    for (; heard.frames[1] !== "JOB COMPLETE"; heard = await broker.next()) {
      if (heard.frames[1] === "READY") broker.router.sendTo(heard.peer, bytes("", "job", "name-1", "", ""));
    }
    assert.deepEqual(heard.frames, ["", "JOB COMPLETE", "name-1", "", "job, done"]);
    // After 80 ms of silence, with a ping every 20 ms, it starts over.
    const said: (string | undefined)[] = [];
    while (said.at(-1) !== "READY" || !said.includes("PING")) said.push((await broker.next()).frames.at(-1));
  });

  test("a result without parts is an empty frame", async () => {
    const broker = await openBroker();
    startWorker(broker, { work: () => [] });
    broker.router.sendTo(await broker.expect("", "READY"), bytes("", "job"));
    await broker.expect("", "");
  });
});

describe("the pingpong client", patience, () => {
  async function startClient(broker: TestBroker): Promise<PingpongClient> {
    const client = new PingpongClient({ broker: broker.endpoint });
    closing.push(() => client.close());
    return client;
  }

  test("has many jobs open at once, and takes answers in any order", async () => {
    const broker = await openBroker();
    const client = await startClient(broker);
    const [one, two] = [client.submit(...bytes("1")), client.submit(...bytes("2", "3"))];
    const [first, second] = [await broker.next(), await broker.next()];
    assert.deepEqual(
      [first.frames.slice(1), second.frames.slice(1)],
      [
        ["", "1"],
        ["", "2", "3"],
      ],
    );
    broker.router.sendTo(second.peer, bytes(String(second.frames[0]), "", "of two"));
    broker.router.sendTo(first.peer, bytes(String(first.frames[0]), "", "of", "one"));
    assert.deepEqual((await two).map(String), ["of two"]);
    assert.deepEqual((await one).map(String), ["of", "one"]);
  });

  test("an ERROR rejects with its code and words; garbage and strangers' answers are passed over", async () => {
    const broker = await openBroker();
    const client = await startClient(broker);
    const asked = client.submit(...bytes("x"));
    const { peer, frames } = await broker.next();
    broker.router.sendTo(peer, bytes("garbage"));
    broker.router.sendTo(peer, bytes("nobody", "", "x"));
    broker.router.sendTo(peer, bytes(String(frames[0]), "", "ERROR", "poison", "Lost."));
    await assert.rejects(asked, (error) => {
      assert.ok(error instanceof PingpongError);
      assert.deepEqual([error.code, error.message], ["poison", "Lost."]);
      return true;
    });
  });

  test("a lost connection, and closing, reject what is open; the next job finds the broker again", async () => {
    const broker = await openBroker();
    const client = await startClient(broker);
    const lost = client.submit(...bytes("lost"));
    broker.router.disconnect((await broker.next()).peer);
    await assert.rejects(lost, { code: "disconnected" });
    const again = client.submit(...bytes("again"));
    const { peer, frames } = await broker.next();
    broker.router.sendTo(peer, bytes(String(frames[0]), "", "here"));
    assert.deepEqual((await again).map(String), ["here"]);
    const open = client.submit(...bytes("open"));
    const rejected = assert.rejects(open, { code: "closed" });
    await client.close();
    await rejected;
  });

  test("an undefined job is an empty frame", async () => {
    const broker = await openBroker();
    const client = await startClient(broker);
    const asked = client.submit();
    const { peer, frames } = await broker.next();
    assert.deepEqual(frames.slice(1), ["", ""]);
    broker.router.sendTo(peer, bytes(String(frames[0]), "", ""));
    assert.deepEqual((await asked).map(String), [""]);
  });
});
