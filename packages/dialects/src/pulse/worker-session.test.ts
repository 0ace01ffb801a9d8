import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import type { ControllerWord, ControlMessage } from "./messages.js";
import {
  defaultPulseWorkerSettings,
  PulseWorkerSession,
  type PulseWorkerSettings,
} from "./worker-session.js";

/**
 * A worker's session, with a log of what it did since the log was last read, one line per action.
 */
class WorkerUnderTest {
  readonly session: PulseWorkerSession;
  readonly #did: string[] = [];
  now = 0;

  constructor(settings: Partial<PulseWorkerSettings> = {}) {
    this.session = new PulseWorkerSession(
      { ...defaultPulseWorkerSettings, ...settings },
      {
        pulse: ({ type, workerId, taskId, nextPulse }) =>
          this.#did.push(`${type} of ${workerId} at ${taskId}, next ${nextPulse}`),
        listen: (id) => this.#did.push(`listen ${id}`),
        work: (task, payload) => this.#did.push(`work ${task} "${payload}"`),
        abandon: () => this.#did.push("abandon"),
        ended: () => this.#did.push("ended"),
      },
    );
  }

  get moment(): Moment {
    return { instant: this.now as Instant, wall: this.now } as Moment;
  }

  answer(error: ControllerWord, workerId?: number): void {
    this.session.answered(
      { error, ...(workerId === undefined ? {} : { workerId: BigInt(workerId) }) },
      this.moment,
    );
  }

  /** A worker that is registered as 1 and listening. */
  registered(): this {
    this.session.start(this.moment);
    this.answer("OK", 1);
    this.session.listening(this.moment);
    this.answer("OK");
    this.did();
    return this;
  }

  wait(ms: number): void {
    this.now += ms;
    this.session.handleTimeout(this.moment);
  }

  control(type: ControlMessage["type"], taskId?: number, text = ""): string {
    const payload = Buffer.from(text);
    const asked = {
      type,
      extraSize: BigInt(payload.length),
      ...(taskId === undefined ? {} : { taskId: BigInt(taskId) }),
    };
    const { message, extra } = this.session.control({ message: asked, extra: payload }, this.moment);
    assert.equal(message.extraSize, BigInt(extra.length));
    return `${message.error} ${message.taskId} "${extra}"`;
  }

  finish(text: string): void {
    this.session.finish(Buffer.from(text), this.moment);
  }

  did(): string[] {
    return this.#did.splice(0);
  }
}

test("registers, listens, pulses at once and then again and again", () => {
  const worker = new WorkerUnderTest();
  worker.session.start(worker.moment);
  assert.equal(worker.session.nextDeadline(), undefined);
  worker.answer("OK", 5);
  assert.deepEqual(worker.did(), ["REGISTER of 0 at 0, next 60", "listen 5"]);
  worker.session.listening(worker.moment);
  worker.answer("OK");
  assert.equal(worker.session.nextDeadline(), 30_000);
  worker.wait(29_999);
  assert.deepEqual(worker.did(), ["OK of 5 at 0, next 60"]);
  worker.wait(1);
  assert.deepEqual(worker.did(), ["OK of 5 at 0, next 60"]);
});

test("a task: taken, named in pulses, offered, fetched", () => {
  const worker = new WorkerUnderTest().registered();
  assert.equal(worker.control("FETCH"), 'NO_FETCH 0 ""');
  assert.equal(worker.control("SET_TASK", 7, "data"), 'OK 7 ""');
  assert.equal(worker.control("SET_TASK", 8), 'BUSY 7 ""');
  assert.equal(worker.control("GET_STATUS"), 'OK 7 ""');
  assert.equal(worker.control("FETCH"), 'NO_FETCH 7 ""');
  worker.wait(30_000);
  worker.answer("OK");
  worker.finish("solution");
  assert.deepEqual(worker.did(), ['work 7 "data"', "OK of 1 at 7, next 60", "FETCH_ME of 1 at 7, next 60"]);
  assert.equal(worker.control("SET_TASK", 8), 'BUSY 7 ""');
  assert.equal(worker.control("FETCH", 99, "ignored"), 'OK 7 "solution"');
  assert.equal(worker.control("FETCH"), 'NO_FETCH 0 ""');
  assert.equal(worker.session.isIdle, true);
});

test("a solution that is ready while a pulse is out is offered when that is answered", () => {
  const worker = new WorkerUnderTest().registered();
  worker.control("SET_TASK", 7);
  worker.wait(30_000);
  worker.did();
  worker.finish("");
  assert.deepEqual(worker.did(), []);
  worker.answer("OK");
  assert.deepEqual(worker.did(), ["FETCH_ME of 1 at 7, next 60"]);
  worker.answer("OK");
  // Not fetched yet, so every pulse repeats it.
  worker.wait(30_000);
  assert.deepEqual(worker.did(), ["FETCH_ME of 1 at 7, next 60"]);
  assert.equal(worker.control("FETCH"), 'OK 7 ""');
});

test("a failure is fetched as one, with its words", () => {
  const worker = new WorkerUnderTest().registered();
  worker.control("SET_TASK", 7);
  worker.session.fail("no licence", worker.moment);
  assert.equal(worker.control("FETCH"), 'TASK_FAILED 7 "no licence"');
  assert.equal(worker.control("SET_TASK", 8), 'OK 8 ""');
});

test("a control type nobody knows is answered FAILED", () => {
  assert.equal(new WorkerUnderTest().registered().control(9), 'FAILED 0 "unknown control type"');
});

test("UNKNOWN_ID: registers anew, gives up its task, and is busy until that has ended", () => {
  const worker = new WorkerUnderTest().registered();
  worker.control("SET_TASK", 7);
  worker.did();
  worker.wait(30_000);
  worker.answer("UNKNOWN_ID");
  worker.answer("OK", 2);
  worker.session.listening(worker.moment);
  worker.answer("OK");
  assert.deepEqual(worker.did(), [
    "OK of 1 at 7, next 60",
    "abandon",
    "REGISTER of 0 at 0, next 60",
    "listen 2",
    "OK of 2 at 0, next 60",
  ]);
  assert.equal(worker.control("SET_TASK", 8), 'BUSY 0 ""');
  worker.finish("late");
  assert.equal(worker.control("FETCH"), 'NO_FETCH 0 ""');
  assert.equal(worker.control("SET_TASK", 8), 'OK 8 ""');
});

test("UNKNOWN_TYPE: a controller that does not know our numbering says UNKNOWN_ID so, and it registers anew", () => {
  const worker = new WorkerUnderTest().registered();
  worker.did();
  worker.wait(30_000);
  worker.answer("UNKNOWN_TYPE");
  assert.deepEqual(worker.did(), ["OK of 1 at 0, next 60", "REGISTER of 0 at 0, next 60"]);
});

test("RESTART: everything is forgotten, and it registers anew", () => {
  const worker = new WorkerUnderTest().registered();
  worker.control("SET_TASK", 7);
  worker.finish("s");
  worker.answer("OK");
  worker.did();
  assert.equal(worker.control("RESTART", 7, "ignored"), 'OK 0 ""');
  assert.deepEqual(worker.did(), ["REGISTER of 0 at 0, next 60"]);
  assert.equal(worker.session.isIdle, true);
});

test("a controller that is not there, or refuses: tried again", () => {
  const worker = new WorkerUnderTest();
  worker.session.start(worker.moment);
  worker.session.unanswered(worker.moment);
  worker.wait(999);
  assert.deepEqual(worker.did(), ["REGISTER of 0 at 0, next 60"]);
  worker.wait(1);
  worker.answer("FAILED");
  worker.wait(1_000);
  worker.answer("UNKNOWN_ID");
  worker.wait(1_000);
  // A worker that receives no id is not registered.
  worker.answer("OK");
  worker.wait(1_000);
  assert.deepEqual(worker.did(), Array(4).fill("REGISTER of 0 at 0, next 60"));
});

test("stop says SHUTDOWN, once, behind a pulse that is out; an unregistered one just ends", () => {
  const worker = new WorkerUnderTest().registered();
  worker.wait(30_000);
  worker.session.stop(worker.moment);
  worker.session.stop(worker.moment);
  assert.deepEqual(worker.did(), ["OK of 1 at 0, next 60"]);
  worker.answer("OK");
  assert.equal(worker.control("SET_TASK", 7), 'BUSY 0 ""');
  worker.session.unanswered(worker.moment);
  assert.deepEqual(worker.did(), ["SHUTDOWN of 1 at 0, next 0", "ended"]);
  assert.equal(worker.session.nextDeadline(), undefined);
  const early = new WorkerUnderTest();
  early.session.stop(early.moment);
  assert.deepEqual(early.did(), ["ended"]);
});

test("RESTART ends a worker that is set to end on it", () => {
  const worker = new WorkerUnderTest({ onRestart: "end" }).registered();
  worker.control("SET_TASK", 7, "payload");
  worker.did();
  worker.control("RESTART");
  assert.deepEqual(worker.did(), ["abandon", "ended"]);
  assert.equal(worker.session.nextDeadline(), undefined);
  worker.session.finish(Buffer.from("late"), worker.moment);
  worker.wait(60_000);
  assert.deepEqual(worker.did(), []);
});
