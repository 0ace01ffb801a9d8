// A message does the same whether it came packed or as frames: posts, answers and faults are equal.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AttemptNumber,
  type Body,
  type Effect,
  type Instant,
  type Moment,
  type TaskHead,
  type TaskId,
  type WorkerId,
  workerIdOf,
  type YardEvent,
} from "@yardmaster/core";
import fc from "fast-check";
import { packFrames, unpackFrames, WireFrames } from "../wire-frames.js";
import type { ScalerLine } from "./line.js";
import { ScalerScheduler } from "./scheduler.js";
import { taskMetadata } from "./structs.js";

const now: Moment = { instant: 1 as Instant, wall: 1 as Moment["wall"] };
const queue = "q";

class FakeLine implements ScalerLine {
  session: ScalerLine["session"] = undefined;
  readonly identity: Buffer;
  readonly name: string;
  readonly address = "tcp://nowhere";
  readonly #log: string[];
  isFull = false;

  constructor(name: string, log: string[]) {
    this.identity = Buffer.from(name);
    this.name = name;
    this.#log = log;
  }

  send(frames: readonly Buffer[]): boolean {
    if (!this.isFull) this.#log.push(`${this.name} gets ${shown(frames)}`);
    return !this.isFull;
  }

  sendPacked(bytes: Buffer, from: number, to: number): boolean {
    return this.send(unpackFrames(bytes, from, to));
  }

  answer(frames: readonly Buffer[]): void {
    this.#log.push(`${this.name} gets ${shown(frames)}`);
  }

  hold(): void {}
  release(): void {}
}

function shown(frames: readonly Uint8Array[]): string {
  return frames.map((frame) => Buffer.from(frame).toString("latin1")).join("|");
}

/** A scheduler, and a core that accepts everything and assigns it to the only worker at once. */
class Bench {
  readonly log: string[] = [];
  readonly client = new FakeLine("client", this.log);
  readonly worker = new FakeLine("worker", this.log);
  readonly #scheduler: ScalerScheduler;
  readonly #isPacked: boolean;
  readonly #heads = new Map<TaskId, TaskHead>();
  readonly #effects: Effect[] = [];

  constructor(isPacked: boolean, isRemembered = true) {
    this.#isPacked = isPacked;
    const settings = {
      ...{
        door: "scaler",
        queue,
        slots: 10,
        functionName: "f",
        objectBytesMax: 2_000,
        largestObjectBytes: 1_000_000,
        isProtected: true,
      },
      ...{ isRemembered, idSecret: { first: 1, second: 2 } },
    };
    this.#scheduler = new ScalerScheduler(settings, {
      post: (event) => this.#post(event),
      now: () => now,
      fault: (kind, peer) => this.log.push(`fault ${kind} of ${peer}`),
      clientGone: (key) => this.log.push(`client ${key} is gone`),
      searchEnded: () => {},
      readMemo: () => assert.fail("every object here is small"),
      isShortOfMemory: () => false,
    });
    this.#scheduler.came(this.client);
    this.#scheduler.came(this.worker);
    this.say(this.worker, ["HB", Buffer.alloc(33)]);
    this.say(this.client, ["CB", Buffer.alloc(20)]);
  }

  get objects(): { readonly size: number; readonly bytes: number } {
    const { size, bytes } = this.#scheduler.exchange.objects;
    return { size, bytes };
  }

  say(line: FakeLine, message: readonly (string | Buffer)[]): void {
    const frames = message.map((frame) => Buffer.from(frame));
    const packed = this.#isPacked ? packFrames(frames) : undefined;
    const view =
      packed === undefined ? WireFrames.of(frames) : new WireFrames().readPacked(packed, 0, packed.length);
    this.#scheduler.receive(line, view);
    // Overwrites the read buffer, which must not be used after the read.
    packed?.fill(0xee);
    for (let effect = this.#effects.shift(); effect !== undefined; effect = this.#effects.shift())
      this.#scheduler.deliver(effect);
  }

  revoke(task: number): void {
    const attempt = 1 as AttemptNumber;
    const [door, worker] = ["scaler", this.#worker];
    this.#scheduler.deliver({
      type: "revoke",
      door,
      worker,
      task: task as TaskId,
      attempt,
      reason: "cancelled",
    });
  }

  leave(): void {
    this.#scheduler.went(this.worker, false);
  }

  get #worker(): WorkerId {
    return workerIdOf("scaler", "worker");
  }

  #post(event: YardEvent): void {
    this.log.push(
      JSON.stringify(event, (_, value) => (value instanceof Uint8Array ? shown([value]) : plain(value))),
    );
    const door = "scaler";
    if (event.type === "task-submitted" && event.request !== undefined) {
      const id = (this.#heads.size + 1) as TaskId;
      const head = { id, priority: 0, door, ...event.submission } as unknown as TaskHead;
      this.#heads.set(id, head);
      const lease = { attempt: 1 as AttemptNumber, leaseMs: 0, request: undefined };
      this.#effects.push({ type: "assign", door, worker: this.#worker, task: head, ...lease });
      const answer = { type: "accepted" as const, task: id, existing: false };
      this.#effects.push({ type: "reply", door, request: event.request, answer });
    } else if (event.type === "attempt-done" || event.type === "attempt-failed") {
      const head = this.#heads.get(event.task);
      const state = event.type === "attempt-done" ? ("done" as const) : ("failed" as const);
      const outcome = { state, result: event.result, error: undefined };
      if (head !== undefined) this.#effects.push({ type: "tell", door, task: head, outcome });
    }
  }
}

/** A body as code outside the dialect sees it. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || !("mediaType" in value)) return value;
  const { mediaType, size, bytes, envelope } = value as Body;
  return { mediaType, size, bytes: bytes && shown([bytes]), envelope: envelope && shown([envelope]) };
}

const id = fc.constantFrom("a", "b", "yardtask12345678", "an id of thirty-two bytes, or so", "");
const metadata = fc.constantFrom("", "12345", "123456789012");
const letter = fc.constantFrom("S", "F", "R", "T", "C", "X", "");
const counts = fc.constantFrom([1, 1, 1], [1, 1, 0], [2, 1, 1]).map((each) => {
  const bytes = Buffer.alloc(12);
  for (const [index, count] of each.entries()) bytes.writeUInt32LE(count, index * 4);
  return bytes;
});
const source = fc.constantFrom("client", "client", "client", "somebody");
const usual = fc.constantFrom<string | Buffer>("client");
const fields = { id, metadata, letter, source: fc.oneof(usual, source) };

const message = fc.oneof(
  fc
    .tuple(
      fields.id,
      fields.source,
      fc.constantFrom("", taskMetadata(3), "123"),
      fields.id,
      fc.array(fields.id, { maxLength: 20 }),
    )
    .map(([task, from, meta, call, args]) => [
      "TK",
      task,
      from,
      meta,
      call,
      ...args.flatMap((each) => ["R", each]),
    ]),
  fc
    .tuple(fields.id, letter, metadata, fields.id)
    .map(([task, status, meta, result]) => ["TR", task, status, meta, result]),
  fc.tuple(fields.id).map(([task]) => ["TR", task, "S", "", "result of it"]),
  fc
    .tuple(letter, fields.source, counts, fields.id, fc.constantFrom("n", "x".repeat(200)))
    .map(([kind, from, count, object, bytes]) => ["OI", kind, from, count, object, "name", bytes]),
  fc
    .tuple(fields.id)
    .map(([object]) => [
      "OI",
      "C",
      "client",
      Buffer.from([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]),
      object,
      "n",
      "b",
    ]),
  fc
    .tuple(fields.id)
    .map(([object]) => ["OI", "D", "client", Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), object]),
  fc.tuple(fields.id).map(([object]) => ["OR", "A", object]),
  fc.array(fc.oneof(id, letter), { maxLength: 8 }).map((frames) => ["TK", ...frames]),
  fc.array(fc.oneof(id, letter), { maxLength: 8 }),
);

type Step = {
  readonly type: "say";
  readonly from: "client" | "worker";
  readonly frames: (string | Buffer)[];
};
const step = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      type: fc.constant("say"),
      from: fc.constantFrom("client", "worker"),
      frames: message,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("full"), isFull: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("revoke"), task: fc.integer({ min: 1, max: 4 }) }) },
);

function run(steps: readonly unknown[], isPacked: boolean): { log: string[]; objects: object } {
  const bench = new Bench(isPacked);
  for (const each of steps as (
    | Step
    | { type: "full"; isFull: boolean }
    | { type: "revoke"; task: number }
  )[]) {
    if (each.type === "say") bench.say(each.from === "client" ? bench.client : bench.worker, each.frames);
    else if (each.type === "full") bench.client.isFull = each.isFull;
    else bench.revoke(each.task);
  }
  bench.leave();
  return { log: bench.log, objects: bench.objects };
}

test("a packed message has the same effect as its frames", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      // Deliveries and deletions of one batch may come in either order.
      const sorted = ({ log, objects }: ReturnType<typeof run>) => ({ log: [...log].sort(), objects });
      assert.deepEqual(sorted(run(steps, true)), sorted(run(steps, false)));
    }),
    { numRuns: 1_000 },
  );
});

test("where nothing outlives the process nothing is written down", () => {
  for (const isRemembered of [true, false]) {
    const bench = new Bench(true, isRemembered);
    bench.say(bench.client, [
      "OI",
      "C",
      "client",
      Buffer.from([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]),
      "o",
      "n",
      "b",
    ]);
    bench.say(bench.client, ["TK", "t", "client", "", "o"]);
    bench.say(bench.worker, ["TR", "t", "S", "", "o"]);
    assert.equal(
      bench.log.some((line) => line.includes("memo-written")),
      isRemembered,
    );
    assert.ok(bench.log.includes("worker gets TK|t|client||o"), bench.log.join("\n"));
    assert.ok(bench.log.includes("client gets TR|t|S||o"), bench.log.join("\n"));
  }
});
