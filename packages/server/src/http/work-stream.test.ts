// The worker stream from outside: a real socket, and lines as they arrive.

import assert from "node:assert/strict";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { createInterface } from "node:readline";
import { after, afterEach, before, describe, test } from "node:test";
import { MemoryEngine, MemoryStore } from "@yardmaster/engines";
import { patience } from "../testing/patience.js";
import { YardUnderTest } from "./yard-under-test.js";

interface Line {
  readonly type: string;
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly [name: string]: unknown;
}

interface WorkerView {
  readonly id: string;
  readonly state: string;
  readonly lostReason: string | null;
}

let yard: YardUnderTest;
before(async () => {
  yard = await new YardUnderTest().open();
});
after(() => yard.close());

const streams: TestStream[] = [];
afterEach(async () => {
  for (const stream of streams.splice(0)) await stream.leave();
});

let names = 0;

/** A worker with its own name, and the lines that it received. */
class TestStream {
  readonly name: string;
  readonly request: ClientRequest;
  #response: IncomingMessage | undefined;
  readonly #lines: Line[] = [];
  #wake: () => void = () => {};
  isClosed = false;
  token = "";

  constructor(
    queue: string,
    options: { name?: string; query?: string; body?: string; isRead?: boolean } = {},
  ) {
    const { query = "", body = "", isRead = true } = options;
    this.name = options.name ?? `w${++names}`;
    const url = `http://${yard.base}/v1/queues/${queue}:work?worker=${this.name}${query}`;
    this.request = request(url, { method: "POST", headers: { "Content-Length": Buffer.byteLength(body) } });
    this.request.on("error", () => this.#close());
    this.request.on("response", (response) => {
      this.#response = response;
      response.on("error", () => {});
      response.on("close", () => this.#close());
      if (isRead) this.read();
    });
    this.request.end(body);
    streams.push(this);
  }

  read(): void {
    const lines = createInterface({ input: this.#response as IncomingMessage });
    lines.on("line", (text) => {
      this.#lines.push(JSON.parse(text) as Line);
      this.#wake();
    });
    lines.on("error", () => {});
  }

  #close(): void {
    this.isClosed = true;
    this.#wake();
  }

  async opened(): Promise<this> {
    const line = await this.next();
    assert.equal(line.type, "open");
    this.token = line.token;
    return this;
  }

  /** The next line that is not a beat. */
  async next(): Promise<Line> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined && line.type !== "beat") return line;
      if (line !== undefined) continue;
      if (this.isClosed) throw new Error("the stream has ended");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async closed(): Promise<void> {
    while (!this.isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  cut(): void {
    this.request.destroy();
  }

  async leave(): Promise<void> {
    this.cut();
    await yard.ask("POST", `/v1/workers/http%2F${this.name}:leave`);
  }

  async say(lines: readonly object[], query = "?view=minimal"): Promise<readonly Record<string, unknown>[]> {
    const { json } = await yard.ask("POST", `/v1/attempts:batch${query}`, {
      headers: { "Yard-Token": this.token },
      body: lines.map((line) => JSON.stringify(line)).join("\n"),
    });
    return (json as { items: Record<string, unknown>[] }).items;
  }
}

function named({ task, attempt }: Line) {
  return { task, attempt };
}

describe("a worker stream", patience, () => {
  test("sends a task for each slot, and the next when one has ended", async () => {
    const ids = [];
    for (const text of ["one", "two", "three"]) ids.push((await yard.submit("slots", text)).id);
    const worker = await new TestStream("slots", { query: "&slots=2" }).opened();
    const [one, two] = [await worker.next(), await worker.next()];
    assert.deepEqual([one.task, two.task], ids.slice(0, 2));
    assert.equal(one.payload, "one");
    assert.equal((await yard.task(ids[2] ?? "")).state, "waiting");
    assert.deepEqual(await worker.say([{ ...named(one), result: "ok" }]), [{ id: one.task }]);
    const three = await worker.next();
    assert.equal(three.task, ids[2]);
    const error = { code: "broke", message: "it broke" };
    const answers = await worker.say([
      { ...named(two), error },
      { ...named(three), beat: true },
      { ...named(three), return: true },
    ]);
    assert.deepEqual(answers[0], { id: two.task });
    assert.deepEqual([answers[1]?.id, answers[1]?.cancel], [three.task, false]);
    assert.deepEqual(answers[2], { id: three.task });
    assert.equal((await yard.task(one.task)).state, "done");
    assert.deepEqual((await yard.task(two.task)).error, error);
    assert.equal((await worker.next()).task, three.task, "what was given back comes again");
  });

  test("brings bytes in base64, and leaves large payloads to be fetched", async () => {
    const worker = await new TestStream("bodies", { query: "&slots=3" }).opened();
    const bytes = Buffer.from([0xff, 0xfe, 0]);
    await yard.ask("POST", "/v1/queues/bodies/tasks", { body: bytes });
    assert.equal((await worker.next()).payloadBase64, bytes.toString("base64"));
    const { id } = await yard.submit("bodies", "x".repeat(300_000));
    const line = await worker.next();
    assert.deepEqual([line.task, line.payloadBytes, line.payload], [id, 300_000, undefined]);
    const { text } = await yard.ask("GET", `/v1/tasks/${line.task}/payload`);
    assert.equal(text.length, 300_000);
  });

  test("carries a cancellation", async () => {
    const worker = await new TestStream("cancels").opened();
    const { id } = await yard.submit("cancels", "x");
    const line = await worker.next();
    await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    const cancel = await worker.next();
    assert.deepEqual([cancel.type, cancel.task, cancel.reason], ["cancel", id, "cancelled"]);
    const next = await yard.submit("cancels", "y");
    assert.equal((await yard.task(next.id)).state, "waiting", "the slot is taken until it is answered");
    const [answer] = await worker.say([{ ...named(line), result: "late" }]);
    assert.equal(answer?.code, "stale_attempt");
    assert.equal((await worker.next()).task, next.id);
  });

  test("that was cut continues with the attempts the worker holds, and takes back the others at once", async () => {
    const one = await new TestStream("cut", { query: "&slots=2" }).opened();
    await yard.submit("cut", "x");
    await yard.submit("cut", "y");
    const [kept, lost] = [await one.next(), await one.next()];
    one.cut();
    const body = `${JSON.stringify(named(kept))}\n`;
    const again = await new TestStream("cut", { name: one.name, query: "&slots=2", body }).opened();
    const line = await again.next();
    assert.equal(line.task, lost.task);
    assert.notEqual(line.attempt, lost.attempt);
    assert.deepEqual(await again.say([{ ...named(kept), result: "kept" }]), [{ id: kept.task }]);
    const [stale] = await again.say([{ ...named(lost), result: "of the cut stream" }]);
    assert.equal(stale?.code, "stale_attempt");
    const { story, attempt } = await yard.task(lost.task);
    assert.equal(attempt, line.attempt);
    assert.ok(
      story.some(({ cause }) => cause === "returned: undelivered"),
      "it cost no try",
    );
  });

  test("that is cut and not opened again loses its tasks to another worker", async () => {
    const one = await new TestStream("dead", { query: "&lease=1h" }).opened();
    const { id } = await yard.submit("dead", "x");
    await one.next();
    const other = await new TestStream("dead").opened();
    one.cut();
    assert.equal((await other.next()).task, id);
    assert.ok((await yard.task(id)).story.some(({ cause }) => cause === "lost: connection_closed"));
  });

  test("gives back an attempt that its worker reported after our restart and no longer holds", async () => {
    const store = new MemoryStore();
    const usual = yard;
    const engine = new MemoryEngine(store);
    const first = await new YardUnderTest({ engine }).open();
    yard = first;
    const one = await new TestStream("restart", { query: "&lease=1h" }).opened();
    const { id } = await first.submit("restart", "x");
    const line = await one.next();
    // As if it were killed: it commits nothing any more, and the next one takes its store.
    engine.commit = () => new Promise(() => {});
    const second = await new YardUnderTest({ engine: new MemoryEngine(store) }).open();
    yard = second;
    try {
      const [beat] = await one.say([{ ...named(line), beat: true }]);
      assert.equal(beat?.cancel, false, "the worker holds it again");
      // The worker is restarted before it has reopened its stream.
      const again = await new TestStream("restart", { name: one.name, query: "&lease=1h" }).opened();
      const next = await again.next();
      assert.equal(next.task, id);
      assert.notEqual(next.attempt, line.attempt);
      await again.say([{ ...named(next), result: "ok" }]);
      assert.equal((await second.task(id)).state, "done");
    } finally {
      yard = usual;
      one.cut();
      await second.close();
      await first.door.close();
    }
  });

  test("tells a worker that comes back too late that its attempt is lost", async () => {
    const one = await new TestStream("late", { query: "&lease=100ms" }).opened();
    const { id } = await yard.submit("late", "x");
    const line = await one.next();
    assert.deepEqual([(await one.next()).reason], ["lease_over"]);
    const other = await new TestStream("late").opened();
    assert.equal((await other.next()).task, id);
    one.cut();
    const body = JSON.stringify(named(line));
    const again = await new TestStream("late", { name: one.name, body }).opened();
    const cancel = await again.next();
    assert.deepEqual([cancel.type, cancel.attempt], ["cancel", line.attempt]);
  });

  test("that is not read holds a bounded amount, and its tasks go elsewhere after their lease", async () => {
    const payload = "z".repeat(200_000);
    const slow = new TestStream("slow", { query: "&slots=100&lease=500ms", isRead: false });
    await yard.eventually(
      async () => (await yard.ask("GET", "/v1/workers")).text.includes(`http/${slow.name}`) || undefined,
    );
    const ids: string[] = [];
    for (let count = 0; count < 60; count += 1) ids.push((await yard.submit("slow", payload)).id);
    assert.ok(yard.door.unreadBytes < 262_144 + 2 * payload.length, `${yard.door.unreadBytes} bytes unread`);
    const good = await new TestStream("slow", { query: "&slots=100" }).opened();
    const seen = new Set<string>();
    while (seen.size < ids.length) seen.add((await good.next()).task);
    assert.deepEqual([...seen].sort(), ids.sort());
    const lost = await yard.eventually(async () => {
      const { items } = (await yard.ask("GET", "/v1/workers")).json as { items: WorkerView[] };
      return items.find(({ id, state }) => id === `http/${slow.name}` && state === "lost");
    });
    assert.equal(lost.lostReason, "connection_closed");
  });

  test("ends when the worker is drained, after its last answer", async () => {
    const worker = await new TestStream("drain").opened();
    await yard.submit("drain", "x");
    const line = await worker.next();
    await yard.ask("POST", `/v1/workers/http%2F${worker.name}:drain`);
    const { id } = await yard.submit("drain", "y");
    await worker.say([{ ...named(line), result: "last" }]);
    const end = await worker.next();
    assert.deepEqual([end.type, end.reason], ["end", "drained"]);
    await worker.closed();
    assert.equal((await yard.task(id)).state, "waiting");
    const { text } = await yard.ask("GET", "/v1/workers");
    assert.ok(!text.includes(`http/${worker.name}`), "it left in order");
  });

  test("ends at once when a worker is drained that holds nothing", async () => {
    const worker = await new TestStream("idle").opened();
    const { status, json } = await yard.ask("POST", `/v1/workers/http%2F${worker.name}:drain`);
    assert.deepEqual([status, (json as WorkerView).state], [200, "draining"]);
    assert.equal((await worker.next()).reason, "drained");
  });

  test("is ended by another of its name", async () => {
    const one = await new TestStream("twice").opened();
    await new TestStream("twice", { name: one.name }).opened();
    const end = await one.next();
    assert.deepEqual([end.type, end.reason], ["end", "replaced"]);
  });

  test("does not mix with claims under its name", async () => {
    const worker = await new TestStream("mixed").opened();
    const { status, json } = await yard.ask("POST", `/v1/queues/mixed:claim?worker=${worker.name}`);
    assert.deepEqual([status, (json as { code: string }).code], [409, "wrong_state"]);
    await yard.submit("mixed", "x");
    await worker.next();
    await worker.leave();
    const [attempt] = await yard.claim("mixed", worker.name);
    assert.ok(attempt, "after its goodbye the name is free");
    const stream = await new TestStream("mixed", { name: worker.name }).opened();
    assert.equal((await stream.next()).task, attempt.task, "and the other way round");
  });

  test("a submission that waits in the minimal view is answered with the result itself", async () => {
    const worker = await new TestStream("waited").opened();
    const asked = (query: string) =>
      yard.ask("POST", `/v1/queues/waited/tasks?wait=60s&view=minimal${query}`, { body: "x" });
    const results = [
      [
        { result: "ok" },
        { state: "done", error: null, contentType: "text/plain; charset=utf-8", result: "ok" },
      ],
      [
        { resultBase64: "/w==", contentType: "image/raw" },
        { state: "done", error: null, contentType: "image/raw", resultBase64: "/w==" },
      ],
      [{ error: { message: "no" } }, { state: "failed", error: { code: "failed", message: "no" } }],
    ] as const;
    for (const [said, expected] of results) {
      const waiting = asked("");
      const line = await worker.next();
      await worker.say([{ ...named(line), ...said }]);
      const { status, json } = await waiting;
      assert.deepEqual([status, json], [200, { id: line.task, ...expected }]);
    }
    const waiting = asked("");
    const line = await worker.next();
    await worker.say([{ ...named(line), result: "x".repeat(100_000) }]);
    assert.equal(((await waiting).json as { resultBytes: number }).resultBytes, 100_000, "the whole task");
  });

  test("refuses what it cannot read", async () => {
    const open = (query: string, body?: string) =>
      yard.ask("POST", `/v1/queues/bad:work?${query}`, body === undefined ? {} : { body });
    assert.equal((await open("slots=1")).status, 400);
    assert.equal((await open("worker=w&slots=0")).status, 400);
    const { status, text } = await open("worker=w", '{"task":"1","attempt":1}\n{"task":"1"}');
    assert.equal(status, 400);
    assert.match(text, /line 2: attempt is missing/);
  });

  test("takes no token that was not given", async () => {
    const worker = await new TestStream("tokens").opened();
    const { id } = await yard.submit("tokens", "x");
    const line = await worker.next();
    worker.token = `${worker.token.slice(0, -2)}AA`;
    const [answer] = await worker.say([{ ...named(line), result: "forged" }]);
    assert.equal(answer?.code, "unauthorized");
    assert.equal((await yard.task(id)).state, "running");
  });
});
