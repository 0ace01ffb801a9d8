// Every clause of the controller's side: pulses, answers and effects go in; events and control
// messages come out.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AttemptNumber, Effect, Instant, Moment, TaskHead, TaskId, YardEvent } from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import { type ControllerOptions, PulseController } from "./controller.js";
import type { PulseDoorWorker } from "./door-worker.js";
import type { Breakage, ControlRequest } from "./door-worker-host.js";
import type { ControlWord, Numbering, PulseWord, WorkerWord } from "./messages.js";

/** A controller, with a log of what it did since the log was last read, one line per action. */
class ControllerUnderTest {
  readonly controller: PulseController;
  readonly requests: ControlRequest[] = [];
  readonly gone: bigint[] = [];
  readonly #did: string[] = [];
  readonly #workers = new Map<bigint, PulseDoorWorker>();
  /** The memos that it has written. */
  readonly memos = new Map<string, Uint8Array>();
  isDiskSlow = false;
  now = 0;

  constructor(options: Partial<ControllerOptions> = {}) {
    this.controller = new PulseController(
      {
        door: "pulse",
        queue: "q",
        numbering: "auto",
        workersMax: 10,
        addressOf: (id) => `/run/${id}.sock`,
        ...options,
      },
      {
        post: (event) => {
          if (event.type === "memo-written") {
            this.memos.set(event.name, event.bytes);
            if (event.request !== undefined && !this.isDiskSlow) this.#grant(event.request);
          } else if (event.type === "memo-dropped") this.memos.delete(event.name);
          else if (event.type !== "worker-beat") this.#did.push(briefEvent(event));
        },
        control: (worker, request) => {
          this.#workers.set(worker.id, worker);
          this.requests.push(request);
          this.#did.push(briefRequest(worker, request));
        },
        fault: (kind) => this.#did.push(`fault ${kind}`),
        gone: (worker) => this.gone.push(worker.id),
      },
    );
  }

  get moment(): Moment {
    return { instant: this.now as Instant, wall: this.now } as Moment;
  }

  /** Sends a pulse and returns its answer. */
  pulse(type: PulseWord | number, fields: { id?: number; task?: number; next?: number } = {}): string {
    const { id = 1, task = 0, next = 60 } = fields;
    const workerId = type === "REGISTER" ? 0n : BigInt(id);
    return this.heard({ type, workerId, task, next, numbering: "document" });
  }

  heard(pulse: {
    type: PulseWord | number;
    workerId: bigint;
    task: number;
    next: number;
    numbering: Numbering;
  }): string {
    const { type, workerId, task, next, numbering } = pulse;
    let answer = "none";
    this.controller.receive(
      { type, workerId, taskId: BigInt(task), nextPulse: BigInt(next), numbering },
      this.moment,
      ({ error, workerId: given }) => {
        answer = given === undefined ? String(error) : `${error} ${given}`;
      },
    );
    return answer;
  }

  /** Every memo is committed at once. */
  #grant(request: number): void {
    this.deliver({ type: "reply", door: "pulse", request, answer: { type: "granted" } });
  }

  /** A registered worker that has pulsed. */
  worker(): this {
    this.pulse("REGISTER");
    this.pulse("OK");
    this.did();
    return this;
  }

  /** A worker that holds task 7 and has answered SET_TASK. */
  holder(): this {
    this.worker().assign(7);
    this.answer("SET_TASK", "OK", { task: 7 });
    this.pulse("OK", { task: 7 });
    this.did();
    return this;
  }

  assign(id: number, { worker = 1, payload = `task ${id}` } = {}): void {
    const task = { id: id as TaskId, payload: bodyOf(Buffer.from(payload)) } as TaskHead;
    this.deliver({
      type: "assign",
      door: "pulse",
      worker: `pulse/${worker}` as never,
      task,
      attempt: (100 + id) as AttemptNumber,
      leaseMs: 0,
      request: undefined,
    });
  }

  deliver(effect: Effect): void {
    this.controller.deliver(effect);
  }

  answer(
    type: ControlWord,
    error: WorkerWord | number,
    { task = 0, extra = "", worker = 1 }: { task?: number | bigint; extra?: string; worker?: number } = {},
  ): void {
    const bytes = Buffer.from(extra);
    this.#workers.get(BigInt(worker))?.answered(type, {
      message: { error, taskId: BigInt(task), extraSize: BigInt(bytes.length) },
      extra: bytes,
    });
  }

  broken(type: ControlWord, how: Breakage, worker = 1): void {
    this.#workers.get(BigInt(worker))?.broken(type, how);
  }

  get mayBeSilent(): boolean | undefined {
    return this.#workers.get(1n)?.mayBeSilent;
  }

  connected(): void {
    this.#workers.get(1n)?.connected();
  }

  wait(ms: number): void {
    this.now += ms;
    this.controller.handleTimeout(this.moment);
  }

  did(): string[] {
    return this.#did.splice(0);
  }
}

function briefRequest(worker: PulseDoorWorker, { type, taskId, extra }: ControlRequest): string {
  const task = taskId === undefined ? "" : ` ${taskId} "${extra}"`;
  return `${type}${task} to ${worker.id}`;
}

function briefEvent(event: YardEvent): string {
  switch (event.type) {
    case "worker-joined":
      return `${event.worker} joined ${event.profile.queues} with ${event.profile.slots}`;
    case "worker-left":
      return `${event.worker} left: ${event.reason}${event.message === undefined ? "" : `: ${event.message}`}`;
    case "attempt-done":
      return `done ${event.task} as ${event.attempt}: "${bytesOf(event.result)}"`;
    case "attempt-failed":
      return `lost ${event.task} as ${event.attempt}: "${event.error.message}"${event.asLoss ? "" : "!"}`;
    case "attempt-returned":
      return `returned ${event.task}: ${event.reason}, hold ${event.holdMs}`;
    case "attempt-beat":
      return `claim ${event.task} by ${event.request}`;
    default:
      return event.type;
  }
}

describe("the pulse controller: pulses", () => {
  test("REGISTER gives ids from 1, never the same again, and makes the worker known", () => {
    const yard = new ControllerUnderTest();
    assert.equal(yard.pulse("REGISTER"), "OK 1");
    assert.equal(yard.pulse("REGISTER"), "OK 2");
    assert.equal(yard.pulse("SHUTDOWN", { id: 2 }), "OK");
    assert.equal(yard.pulse("REGISTER"), "OK 3");
    assert.deepEqual(yard.did(), [
      "pulse/1 joined q with 1",
      "pulse/2 joined q with 1",
      "pulse/2 left: goodbye",
      "pulse/3 joined q with 1",
    ]);
    yard.controller.reserveIds(9n);
    yard.controller.reserveIds(5n);
    assert.equal(yard.pulse("REGISTER"), "OK 10");
  });

  test("a pulse of one that is not registered, or no longer, is answered UNKNOWN_ID", () => {
    const yard = new ControllerUnderTest();
    for (const type of ["OK", "FETCH_ME", "SHUTDOWN"] as const) {
      assert.equal(yard.pulse(type, { id: 1 }), "UNKNOWN_ID");
    }
    yard.worker();
    assert.equal(yard.pulse("SHUTDOWN", { task: 9 }), "OK");
    assert.deepEqual(yard.did(), ["pulse/1 left: goodbye"]);
    assert.equal(yard.pulse("OK"), "UNKNOWN_ID");
    assert.equal(yard.pulse("OK", { id: Number.MAX_SAFE_INTEGER }), "UNKNOWN_ID");
  });

  test("a type that is no word is answered UNKNOWN_TYPE, and a worker beyond the limit FAILED", () => {
    const yard = new ControllerUnderTest({ workersMax: 1 });
    yard.worker();
    assert.equal(yard.pulse(9), "UNKNOWN_TYPE");
    assert.equal(yard.pulse("REGISTER"), "FAILED");
    assert.deepEqual(yard.did(), ["fault unknown_type", "fault too_many_workers"]);
    assert.equal(yard.pulse("OK"), "OK");
  });

  test("a worker silent for longer than it announced is dead, and its task goes to another", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("OK", { task: 7, next: 2 });
    yard.wait(2_000);
    assert.deepEqual(yard.did(), []);
    yard.pulse("OK", { task: 7, next: 3 });
    yard.wait(3_000);
    assert.deepEqual(yard.did(), []);
    yard.wait(250);
    assert.deepEqual(yard.did(), ["pulse/1 left: silence"]);
    assert.equal(yard.pulse("OK", { task: 7 }), "UNKNOWN_ID");
    assert.equal(yard.controller.nextDeadline(), undefined);
    assert.deepEqual(yard.gone, [1n]);
    // A late answer is discarded.
    yard.answer("FETCH", "OK", { task: 7, extra: "late" });
    assert.deepEqual(yard.did(), []);
  });

  test("a next_pulse of 0 is the door's default, and one without end has one", () => {
    const yard = new ControllerUnderTest();
    yard.pulse("REGISTER", { next: 0 });
    assert.equal(yard.controller.nextDeadline(), 60_250);
    yard.controller.receive(
      { type: "OK", workerId: 1n, taskId: 0n, nextPulse: 2n ** 64n - 1n, numbering: "document" },
      yard.moment,
      () => {},
    );
    assert.equal(yard.controller.nextDeadline(), 7 * 24 * 3_600_000 + 250);
  });

  test("the dead are told so in the numbering they registered in", () => {
    const yard = new ControllerUnderTest();
    const main = { workerId: 0n, task: 0, next: 60, numbering: "main" } as const;
    assert.equal(yard.heard({ type: "REGISTER", ...main }), "OK 1");
    assert.equal(yard.controller.numberingOf(1, 1n), "main");
    yard.heard({ type: "SHUTDOWN", ...main, workerId: 1n });
    assert.equal(yard.controller.numberingOf(1, 1n), "main");
    assert.equal(yard.controller.numberingOf(1, 2n), "document");
    const set = new ControllerUnderTest({ numbering: "main" });
    assert.equal(set.controller.numberingOf(0, 0n), "main");
  });

  test("in auto, one that seems to register in main is given nothing before it pulses under its id", () => {
    const yard = new ControllerUnderTest();
    const main = { task: 0, next: 60, numbering: "main" } as const;
    assert.equal(yard.heard({ type: "REGISTER", workerId: 0n, ...main }), "OK 1");
    assert.deepEqual(yard.did(), []);
    assert.equal(yard.heard({ type: "OK", workerId: 1n, ...main }), "OK");
    assert.deepEqual(yard.did(), ["pulse/1 joined q with 1"]);
    // This was a FETCH_ME by the document that looks like a REGISTER. No worker will ever pulse,
    // and none waits for the answer.
    assert.equal(yard.heard({ type: "REGISTER", workerId: 0n, ...main, next: 5 }), "OK 2");
    yard.wait(6_000);
    assert.deepEqual([yard.did(), yard.gone], [[], [2n]]);
    const set = new ControllerUnderTest({ numbering: "main" });
    set.heard({ type: "REGISTER", workerId: 0n, ...main });
    assert.deepEqual(set.did(), ["pulse/1 joined q with 1"]);
  });

  test("one that the core has no room for is dead", () => {
    const yard = new ControllerUnderTest().worker();
    yard.deliver({ type: "dismiss", door: "pulse", worker: "pulse/1" as never, message: "full" });
    assert.deepEqual(yard.did(), ["fault too_many_workers"]);
    assert.equal(yard.pulse("OK"), "UNKNOWN_ID");
  });
});

describe("the pulse controller: a task's way", () => {
  test("SET_TASK, FETCH_ME, FETCH, and the next", () => {
    const yard = new ControllerUnderTest().worker();
    yard.assign(7);
    yard.answer("SET_TASK", "OK", { task: 7 });
    assert.equal(yard.pulse("OK", { task: 7 }), "OK");
    assert.equal(yard.pulse("FETCH_ME", { task: 7 }), "OK");
    yard.answer("FETCH", "OK", { task: 7, extra: "solution" });
    yard.assign(8);
    assert.deepEqual(yard.did(), [
      'SET_TASK 7 "task 7" to 1',
      "FETCH to 1",
      'done 7 as 107: "solution"',
      'SET_TASK 8 "task 8" to 1',
    ]);
  });

  test("a worker that works inside SET_TASK: fetched before the answer, the next waits for it", () => {
    const yard = new ControllerUnderTest().worker();
    yard.assign(7);
    yard.pulse("FETCH_ME", { task: 7 });
    assert.equal(yard.mayBeSilent, true);
    yard.answer("FETCH", "OK", { task: 7, extra: "solution" });
    yard.assign(8);
    assert.deepEqual(yard.did(), ['SET_TASK 7 "task 7" to 1', "FETCH to 1", 'done 7 as 107: "solution"']);
    // Now only the answer is due.
    assert.equal(yard.mayBeSilent, false);
    yard.answer("SET_TASK", "OK", { task: 7 });
    assert.deepEqual(yard.did(), ['SET_TASK 8 "task 8" to 1']);
  });

  test("an assignment that waits for the former's answer and is cancelled was never said", () => {
    const yard = new ControllerUnderTest().worker();
    yard.assign(7);
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "OK", { task: 7 });
    yard.assign(8);
    yard.did();
    const revoke = {
      type: "revoke",
      door: "pulse",
      worker: "pulse/1" as never,
      reason: "cancelled",
    } as const;
    yard.deliver({ ...revoke, task: 8 as TaskId, attempt: 108 as AttemptNumber });
    assert.deepEqual(yard.did(), ["returned 8: undelivered, hold 1000"]);
    yard.answer("SET_TASK", "OK");
    assert.deepEqual(yard.did(), []);
  });

  test("a task whose lease was revoked stays with its worker until it answers", () => {
    const yard = new ControllerUnderTest().holder();
    const revoke = {
      type: "revoke",
      door: "pulse",
      worker: "pulse/1" as never,
      reason: "cancelled",
    } as const;
    yard.deliver({ ...revoke, task: 7 as TaskId, attempt: 107 as AttemptNumber });
    assert.equal(yard.pulse("FETCH_ME", { task: 7 }), "OK");
    yard.answer("FETCH", "OK", { task: 7, extra: "s" });
    assert.deepEqual(yard.did(), ["FETCH to 1", 'done 7 as 107: "s"']);
  });

  test("BUSY: to another, and this one is left in peace", () => {
    const yard = new ControllerUnderTest().worker();
    yard.assign(7);
    yard.answer("SET_TASK", "BUSY", { task: 3 });
    assert.deepEqual(yard.did(), ['SET_TASK 7 "task 7" to 1', "returned 7: busy, hold 1000"]);
    yard.assign(8);
    assert.deepEqual(yard.did(), ['SET_TASK 8 "task 8" to 1']);
  });

  test("BUSY over and over: it is offered ever less, and that is told once; a task that it takes ends it", () => {
    const yard = new ControllerUnderTest().worker();
    const holds: number[] = [];
    const faults: string[] = [];
    const offer = (id: number, answer: WorkerWord) => {
      yard.assign(id);
      yard.answer("SET_TASK", answer, { task: id });
      for (const line of yard.did()) {
        const [, hold] = /busy, hold (\d+)/.exec(line) ?? [];
        if (hold !== undefined) holds.push(Number(hold));
        if (line.startsWith("fault")) faults.push(line);
      }
    };
    for (let id = 1; id <= 8; id += 1) offer(id, "BUSY");
    assert.deepEqual(holds.splice(0), [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    assert.deepEqual(faults, ["fault always_busy"]);
    offer(9, "OK");
    yard.pulse("FETCH_ME", { task: 9 });
    yard.answer("FETCH", "OK", { task: 9, extra: "s" });
    yard.did();
    offer(10, "BUSY");
    assert.deepEqual(holds, [1_000]);
  });

  test("TASK_FAILED: a loss with what it said, and the worker is free", () => {
    for (const type of ["FETCH", "SET_TASK"] as const) {
      const yard = new ControllerUnderTest().worker();
      yard.assign(7);
      if (type === "FETCH") yard.pulse("FETCH_ME", { task: 7 });
      yard.did();
      yard.answer(type, "TASK_FAILED", { task: 7, extra: "no licence" });
      assert.deepEqual(yard.did(), ['lost 7 as 107: "no licence"']);
      assert.equal(yard.pulse("OK", { task: 7 }), "OK");
      assert.deepEqual(yard.did(), []);
    }
  });

  test("FAILED as the answer to anything, or a word nobody knows: the worker is gone, with what it said", () => {
    for (const error of ["FAILED", 17] as const) {
      for (const type of ["SET_TASK", "FETCH"] as const) {
        const yard = new ControllerUnderTest().worker();
        yard.assign(7);
        yard.pulse("FETCH_ME", { task: 7 });
        yard.did();
        yard.answer(type, error, { extra: "disk full" });
        assert.deepEqual(yard.did(), ["fault worker_failed", "pulse/1 left: reported: disk full"]);
        assert.equal(yard.pulse("OK"), "UNKNOWN_ID");
      }
    }
  });

  test("an answer that makes no sense for its question ends the worker", () => {
    const yard = new ControllerUnderTest().worker();
    yard.assign(7);
    yard.answer("SET_TASK", "NO_FETCH");
    const other = new ControllerUnderTest().holder();
    other.pulse("FETCH_ME", { task: 7 });
    other.answer("FETCH", "BUSY");
    assert.deepEqual(
      [yard.did().at(-1), other.did().at(-1)],
      ["pulse/1 left: reported", "pulse/1 left: reported"],
    );
  });

  test("a connection that breaks ends the worker; one that was never made costs the task nothing", () => {
    const cases = [
      ["broken", ["pulse/1 left: connection_closed"]],
      ["silent", ["pulse/1 left: silence"]],
      ["unreachable", ["returned 7: undelivered, hold 1000", "pulse/1 left: send_failed"]],
    ] as const;
    for (const [how, expected] of cases) {
      const yard = new ControllerUnderTest().worker();
      yard.assign(7);
      yard.did();
      yard.broken("SET_TASK", how);
      assert.deepEqual(yard.did(), expected);
      assert.equal(yard.pulse("OK"), "UNKNOWN_ID");
    }
    // A failed fetch is no reason to think that the task was not begun.
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.broken("FETCH", "unreachable");
    assert.deepEqual(yard.did(), ["FETCH to 1", "pulse/1 left: send_failed"]);
  });

  test("a worker boots until its first pulse or its first connection", () => {
    const yard = new ControllerUnderTest();
    yard.pulse("REGISTER");
    yard.assign(7);
    assert.equal(yard.requests.at(-1)?.isBooting, true);
    yard.connected();
    yard.answer("SET_TASK", "BUSY");
    yard.assign(8);
    assert.equal(yard.requests.at(-1)?.isBooting, false);
    const other = new ControllerUnderTest().worker();
    other.assign(7);
    assert.equal(other.requests.at(-1)?.isBooting, false);
  });
});

describe("the pulse controller: whose answer it is", () => {
  test("an id of 0, or one that was never given out, means the task it holds", () => {
    for (const task of [0, 8, 2n ** 64n - 1n]) {
      const yard = new ControllerUnderTest().holder();
      yard.pulse("FETCH_ME", { task: 7 });
      yard.answer("FETCH", "OK", { task, extra: "s" });
      assert.deepEqual(yard.did(), ["FETCH to 1", 'done 7 as 107: "s"']);
    }
  });

  test("an id of another task is stale: the core refuses it, for that task", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "OK", { task: 3, extra: "s" });
    assert.deepEqual(yard.did(), ["FETCH to 1", "fault stale_answer", 'done 3 as undefined: "s"']);
    // The worker's own fetch is still in flight.
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "OK", { task: 7, extra: "s" });
    assert.deepEqual(yard.did(), ["FETCH to 1", 'done 7 as 107: "s"']);
  });

  test("what an idle worker wants fetched is fetched and dropped", () => {
    const yard = new ControllerUnderTest().worker();
    yard.pulse("FETCH_ME");
    yard.answer("FETCH", "OK", { extra: "out of the blue" });
    assert.deepEqual(yard.did(), ["FETCH to 1", "fault stale_answer"]);
    yard.pulse("FETCH_ME");
    yard.answer("FETCH", "NO_FETCH");
    assert.deepEqual(yard.did(), ["FETCH to 1"]);
  });
});

describe("the pulse controller: nothing to fetch", () => {
  test("NO_FETCH leaves the worker as it is, and the next pulse that names the task fetches again", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "NO_FETCH", { task: 7 });
    yard.pulse("OK", { task: 7 });
    yard.answer("FETCH", "OK", { task: 7, extra: "s" });
    assert.deepEqual(yard.did(), ["FETCH to 1", "FETCH to 1", 'done 7 as 107: "s"']);
  });

  test("a pulse that no longer names it: done, with an empty result", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "NO_FETCH");
    assert.equal(yard.pulse("OK", { task: 0 }), "OK");
    assert.deepEqual(yard.did(), ["FETCH to 1", 'done 7 as 107: ""']);
  });

  test("an empty solution in words is one at once", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "OK", { task: 7 });
    assert.deepEqual(yard.did(), ["FETCH to 1", 'done 7 as 107: ""']);
  });

  test("a FETCH_ME of before the task, answered while SET_TASK is out, says nothing about the task", () => {
    const yard = new ControllerUnderTest().worker();
    yard.assign(7);
    yard.pulse("FETCH_ME", { task: 0 });
    yard.answer("FETCH", "NO_FETCH");
    yard.did();
    assert.equal(yard.pulse("OK", { task: 0 }), "OK");
    assert.deepEqual(yard.did(), []);
  });

  test("FETCH_ME while a FETCH is under way: one at a time, and once more if there was nothing", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.pulse("FETCH_ME", { task: 7 });
    assert.deepEqual(yard.did(), ["FETCH to 1"]);
    yard.answer("FETCH", "NO_FETCH");
    assert.deepEqual(yard.did(), ["FETCH to 1"]);
    yard.answer("FETCH", "OK", { task: 7, extra: "s" });
    assert.deepEqual(yard.did(), ['done 7 as 107: "s"']);
  });
});

describe("the pulse controller: a task_id that does not agree", () => {
  const restarted = ["fault task_mismatch", "RESTART to 1", "pulse/1 left: restarted"];

  test("RESTART, the worker is dropped, and what it answers is ignored", () => {
    const cases: [ControllerUnderTest, number][] = [
      [new ControllerUnderTest().worker(), 5],
      [new ControllerUnderTest().holder(), 5],
      [new ControllerUnderTest().holder(), 0],
    ];
    for (const [yard, task] of cases) {
      assert.equal(yard.pulse("OK", { task }), "OK");
      assert.deepEqual(yard.did(), restarted);
      yard.answer("RESTART", "FAILED");
      yard.broken("RESTART", "unreachable");
      assert.deepEqual(yard.did(), []);
      assert.equal(yard.pulse("OK", { task }), "UNKNOWN_ID");
    }
  });

  test("(a) idle, and the pulse names the last task it finished", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "OK", { task: 7 });
    yard.did();
    assert.equal(yard.pulse("OK", { task: 7 }), "OK");
    assert.deepEqual(yard.did(), []);
    yard.pulse("OK", { task: 6 });
    assert.deepEqual(yard.did(), restarted);
  });

  test("(b) assigned, and the pulse says 0, or the task before, while SET_TASK is out", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.answer("FETCH", "OK", { task: 7 });
    yard.assign(8);
    yard.did();
    yard.pulse("OK", { task: 0 });
    yard.pulse("OK", { task: 7 });
    assert.deepEqual(yard.did(), []);
    yard.answer("SET_TASK", "OK", { task: 8 });
    // The first pulse after the answer may have been written before it.
    yard.pulse("OK", { task: 7 });
    assert.deepEqual(yard.did(), []);
    yard.pulse("OK", { task: 7 });
    assert.deepEqual(yard.did(), restarted);
  });

  test("(b) and while a FETCH is pending", () => {
    const yard = new ControllerUnderTest().holder();
    yard.pulse("FETCH_ME", { task: 7 });
    yard.pulse("OK", { task: 0 });
    assert.deepEqual(yard.did(), ["FETCH to 1"]);
  });

  test("(c) the pulse names the new task before SET_TASK is answered", () => {
    const yard = new ControllerUnderTest().worker();
    yard.assign(7);
    yard.did();
    yard.pulse("OK", { task: 7 });
    assert.deepEqual(yard.did(), []);
  });
});

describe("the pulse controller: a worker that was there before us", () => {
  test("who is registered is found again with its numbering and its next_pulse, and no id is used twice", () => {
    const before = new ControllerUnderTest();
    before.pulse("REGISTER");
    before.heard({ type: "REGISTER", workerId: 0n, task: 0, next: 5, numbering: "main" });
    before.pulse("REGISTER");
    before.pulse("OK", { id: 1, next: 90 });
    before.pulse("SHUTDOWN", { id: 3 });
    before.assign(7);
    const yard = new ControllerUnderTest();
    yard.controller.remember(before.memos, yard.moment);
    assert.deepEqual(yard.did(), ["GET_STATUS to 1", "GET_STATUS to 2"]);
    assert.ok(
      yard.requests.every((request) => request.isBooting),
      "its socket may not be there yet",
    );
    assert.equal(yard.pulse("OK", { id: 1, next: 90 }), "OK");
    assert.equal(yard.controller.numberingOf(1, 2n), "main");
    assert.equal(yard.controller.nextDeadline(), 5_250);
    assert.equal(yard.pulse("OK", { id: 3 }), "UNKNOWN_ID");
    const id = Number(yard.pulse("REGISTER").slice("OK ".length));
    assert.ok(id > 3, `${id} was given out before`);
    // An answer about an earlier task is not taken for one about the current task.
    yard.answer("GET_STATUS", "OK", { worker: 1 });
    yard.assign(9);
    yard.did();
    yard.pulse("FETCH_ME", { id: 1, task: 9 });
    yard.answer("FETCH", "OK", { worker: 1, task: 7, extra: "of before" });
    assert.deepEqual(yard.did(), ["FETCH to 1", "fault stale_answer", 'done 7 as undefined: "of before"']);
  });

  test("a REGISTER is answered when it is safe, and memos that say nothing sensible are no harm", () => {
    const yard = new ControllerUnderTest();
    const nonsense = Buffer.from("[]");
    yard.controller.remember(
      new Map([
        ["counters", nonsense],
        ["worker/8", nonsense],
        ["x", nonsense],
      ]),
      yard.moment,
    );
    assert.deepEqual(yard.did(), []);
    assert.equal(yard.pulse("REGISTER"), "OK 9");
    yard.isDiskSlow = true;
    assert.equal(yard.pulse("REGISTER"), "none");
  });

  const adopted = () => {
    const yard = new ControllerUnderTest();
    yard.controller.adopt({ id: 4n, numbering: "main", nextPulse: 0n }, yard.moment);
    assert.deepEqual(yard.did(), ["GET_STATUS to 4"]);
    return yard;
  };
  const reply = (
    yard: ControllerUnderTest,
    isGranted: boolean,
    code: "stale_attempt" | "not_found" = "stale_attempt",
  ) =>
    yard.deliver({
      type: "reply",
      door: "pulse",
      request: 1,
      answer: isGranted
        ? { type: "beat", leaseMs: 0, cancel: false }
        : { type: "refused", code, message: "" },
    });

  test("an idle one joins, under its own id, which nobody else is given", () => {
    const yard = adopted();
    // The worker is not judged before it has said what it holds.
    assert.equal(yard.pulse("OK", { id: 4, task: 9 }), "OK");
    yard.answer("GET_STATUS", "OK", { worker: 4 });
    assert.deepEqual(yard.did(), ["pulse/4 joined q with 1"]);
    assert.equal(yard.pulse("REGISTER"), "OK 5");
  });

  test("the task that it says it holds is claimed before it gets another", () => {
    const yard = adopted();
    yard.answer("GET_STATUS", "OK", { worker: 4, task: 9 });
    assert.deepEqual(yard.did(), ["pulse/4 joined q with 0", "claim 9 by 1"]);
    reply(yard, true);
    assert.deepEqual(yard.did(), ["pulse/4 joined q with 1"]);
    yard.pulse("FETCH_ME", { id: 4, task: 9 });
    yard.answer("FETCH", "OK", { worker: 4, task: 9, extra: "s" });
    assert.deepEqual(yard.did(), ["FETCH to 4", 'done 9 as undefined: "s"']);
  });

  test("one that names a task that has ended is idle: the original does so until it has the next", () => {
    const yard = adopted();
    yard.answer("GET_STATUS", "OK", { worker: 4, task: 9 });
    yard.did();
    reply(yard, false, "not_found");
    assert.deepEqual(yard.did(), ["pulse/4 joined q with 1"]);
    assert.equal(yard.pulse("OK", { id: 4, task: 9 }), "OK");
    assert.deepEqual(yard.did(), []);
    yard.assign(11, { worker: 4 });
    assert.deepEqual(yard.did(), ['SET_TASK 11 "task 11" to 4']);
  });

  test("one whose task is not its own any more starts over, and so does one that fails", () => {
    const yard = adopted();
    yard.answer("GET_STATUS", "OK", { worker: 4, task: 9 });
    yard.did();
    reply(yard, false);
    assert.deepEqual(yard.did(), ["RESTART to 4", "pulse/4 left: restarted"]);
    const failing = adopted();
    failing.answer("GET_STATUS", "FAILED", { worker: 4 });
    // The core never heard of these workers, so none of them joins or leaves.
    assert.deepEqual([failing.did(), failing.gone], [["fault worker_failed"], [4n]]);
    const absurd = adopted();
    absurd.answer("GET_STATUS", "OK", { worker: 4, task: 2n ** 63n });
    assert.deepEqual([absurd.did(), absurd.gone], [[], [4n]]);
    const vanished = adopted();
    vanished.broken("GET_STATUS", "unreachable", 4);
    assert.deepEqual([vanished.did(), vanished.gone], [[], [4n]]);
  });
});
