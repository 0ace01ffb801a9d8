// The scaler door with independent peers in plain Python with pyzmq: the captured messages
// replayed, a worker written from the document, and a client and a worker like the original
// programs.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { type PythonPeer, startPython, withoutPyzmq } from "./foreign.js";
import { client, documentWorker, programWorker, replay } from "./scaler-peers.js";

const vectors = fileURLToPath(
  new URL("../../../packages/dialects/src/scaler/vectors/scaler.json", import.meta.url),
);

/** A yard with the scaler door, and the Python peers of a test. */
class Stage {
  yard!: ServedYard;
  private readonly peers: PythonPeer[] = [];

  async open(settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
    this.yard = await serveYard({ doors: { scaler: settings } });
  }

  start(script: string, ...args: string[]): PythonPeer {
    const peer = startPython(script, String(this.yard.doors.scaler?.listen), ...args);
    this.peers.push(peer);
    return peer;
  }

  /** A worker that has received its first echo. */
  async worker(script: string, layout: string, name: string): Promise<PythonPeer> {
    const peer = this.start(script, layout, name);
    assert.equal(await peer.line(), "registered");
    return peer;
  }

  async client(name: string): Promise<PythonPeer> {
    const peer = this.start(client, name);
    assert.equal(await peer.line(), "connected");
    return peer;
  }

  async close(): Promise<void> {
    await Promise.all(this.peers.map((peer) => peer.stop()));
    assert.equal(await this.yard.stop(), 0);
  }
}

function tell(peer: PythonPeer, ...command: unknown[]): void {
  peer.write(`${JSON.stringify(command)}\n`);
}

/** Resolves when this many tasks are with workers. */
async function running(yard: ServedYard, count: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`${yard.url}/v1/queues`);
    const { items } = (await answer.json()) as { items: { running: number }[] };
    if (items.reduce((sum, queue) => sum + queue.running, 0) === count) return;
  }
}

/** The next lines, one of each, in any order. */
async function lines(peer: PythonPeer, ...wanted: string[]): Promise<void> {
  const got: string[] = [];
  for (const _ of wanted) got.push(await peer.line());
  assert.deepEqual(got.sort(), wanted.sort());
}

for (const layout of ["native", "processors", "packed"]) {
  test(`the captured messages again, heartbeats ${layout}`, {
    skip: withoutPyzmq,
    ...patience,
  }, async () => {
    const stage = new Stage();
    await stage.open({ protected: false });
    const worker = stage.start(replay, vectors, "worker", layout);
    assert.equal(await worker.line(), "registered");
    const asker = stage.start(replay, vectors, "client", layout);
    for (const line of ["one task", "graph", "nothing to cancel", "left"])
      assert.equal(await asker.line(), line);
    for (const line of ["one task", "graph", "deleted"]) assert.equal(await worker.line(), line);
    const other = await stage.client("1|Client|other");
    tell(other, "shutdown");
    assert.equal(await other.line(), "shutdown True");
    assert.equal(await worker.line(), "left");
    await stage.close();
  });
}

const workers = [
  ["document", "native", documentWorker],
  ["document", "packed", documentWorker],
  ["document", "split", documentWorker],
  ["program", "native", programWorker],
  ["program", "processors", programWorker],
  ["program", "packed", programWorker],
] as const;

for (const [form, layout, script] of workers) {
  describe(`pyzmq through the scaler door, ${form} form, heartbeats ${layout}`, {
    skip: withoutPyzmq,
    ...patience,
  }, () => {
    const stage = new Stage();
    let worker: PythonPeer;
    let asker: PythonPeer;
    before(async () => {
      await stage.open();
      worker = await stage.worker(script, layout, "w-1");
      asker = await stage.client("1|Client|asker");
    });
    after(() => stage.close());

    test("a task, and one that fails", async () => {
      tell(asker, "submit", "a", "upper", "one", "two");
      assert.equal(await worker.line(), "upper one two");
      assert.equal(await asker.line(), "a S ONE TWO");
      tell(asker, "submit", "b", "fail");
      assert.equal(await worker.line(), "fail ");
      assert.equal(await asker.line(), "b F it was told to");
    });

    test("the resources in its heartbeats are shown", async () => {
      const answer = await fetch(`${stage.yard.url}/v1/workers`);
      const { items } = (await answer.json()) as { items: { dialect: string; slots: number }[] };
      assert.deepEqual(
        items.map(({ dialect, slots }) => ({ dialect, slots })),
        [{ dialect: "scaler", slots: 1000 }],
      );
      assert.match(JSON.stringify(items), /8589934592/, "free memory");
    });

    test("a graph with an intermediate result that is also a target", async () => {
      tell(
        asker,
        "graph",
        "g",
        ["x", "z"],
        ["x", "upper", "p"],
        ["y", "upper", "q"],
        ["z", "upper", "<y", "<x"],
      );
      for (const line of ["upper p", "upper q", "upper Q P"]) assert.equal(await worker.line(), line);
      assert.equal(await worker.line(), "deleted 1");
      await lines(asker, "x S P", "z S Q P", "g S");
    });

    test("an object that nobody creates", async () => {
      tell(asker, "submit", "m", "upper", "known", "?missing");
      assert.match(await worker.line(), /^not found/);
      assert.equal(await asker.line(), "m F an object is not there");
    });

    test("objects that their client deletes", async () => {
      tell(asker, "forget", "one", "two");
      assert.equal(await worker.line(), "deleted 2");
    });

    test("cancels of a running task, one queued behind it, and one that nobody knows", async () => {
      tell(asker, "submit", "c", "hold");
      assert.equal(await worker.line(), "hold ");
      tell(asker, "submit", "d", "upper", "late");
      tell(asker, "cancel", "d");
      assert.equal(await worker.line(), "cancelled");
      assert.equal(await asker.line(), "d C");
      tell(asker, "cancel", "c");
      assert.equal(await worker.line(), form === "document" ? "cancelled" : "killed");
      assert.equal(await asker.line(), "c C");
      tell(asker, "cancel", "nothing");
      assert.equal(await asker.line(), "nothing N");
    });

    test("a shut-down that is refused", async () => {
      tell(asker, "shutdown");
      assert.equal(await asker.line(), "shutdown False");
    });

    test("an idle worker gets what another has not begun; one that is killed loses nothing", async () => {
      tell(asker, "submit", "e", "hold");
      assert.equal(await worker.line(), "hold ");
      for (const task of ["f", "g", "h", "i"]) tell(asker, "submit", `late-${task}`, "upper", task);
      await running(stage.yard, 5);
      const second = await stage.worker(script, layout, "w-2");
      await lines(worker, ...(form === "document" ? ["gave 2"] : ["gave up", "gave up"]));
      await lines(asker, "late-h S H", "late-i S I");
      await lines(second, "upper h", "upper i");
      worker.signal("SIGKILL");
      assert.equal(await second.line(), "hold ");
      second.write("go\n");
      await lines(asker, "e S held", "late-f S F", "late-g S G");
      await lines(second, "upper f", "upper g");
      second.write("leave\n");
      assert.equal(await second.line(), "left");
    });
  });
}
