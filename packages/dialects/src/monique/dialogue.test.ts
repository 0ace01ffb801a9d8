// Both ends joined without a network: components on one side, the scheduler with its controller on
// the other. The test plays the core.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { AttemptNumber, Moment, RequestAnswer, TaskHead, TaskId, YardEvent } from "@yardmaster/core";
import { readMessage, writeMessage } from "./codec.js";
import { dataIn, MoniqueComponentSession } from "./component-session.js";
import type { MoniqueForm, MoniqueMessage } from "./messages.js";
import type { Frames } from "./questions.js";
import { MoniqueScheduler } from "./scheduler.js";
import { SpecRegister } from "./specs.js";

const now = { instant: 5_000, wall: 1_700_000_000_000 } as Moment;
const spec = "test_echo";

class Yard {
  readonly posted: YardEvent[] = [];
  readonly published: Frames[] = [];
  readonly pushed: [peer: string, frames: Frames][] = [];
  readonly faults: string[] = [];
  readonly scheduler: MoniqueScheduler<string>;
  readonly #takers: ((answer: RequestAnswer) => void)[] = [];

  constructor(form: MoniqueForm) {
    const specs = new SpecRegister({ allowMessages: [], specs: {}, controllers: { [spec]: 1 }, queues: [] });
    this.scheduler = new MoniqueScheduler(
      { door: "monique", form, prefetch: 1, specs },
      {
        now: () => now,
        post: (event) => this.posted.push(event),
        request: (take) => this.#takers.push(take) - 1,
        publish: (frames) => this.published.push(frames),
        publishTech: () => {},
        push: (peer, frames) => this.pushed.push([peer, frames]) > 0,
        holdBack: () => {},
        readTask: (_id, take) => take(undefined),
        fault: (kind) => this.faults.push(kind),
      },
    );
  }

  say(message: MoniqueMessage, form: MoniqueForm): void {
    this.scheduler.receive(writeMessage(message, form), { peer: "in", address: "in", client: "" });
  }

  /** The next posted event of this type. */
  take<Type extends YardEvent["type"]>(type: Type): Extract<YardEvent, { type: Type }> {
    const at = this.posted.findIndex((event) => event.type === type);
    assert.ok(at >= 0, `no ${type} was posted`);
    return this.posted.splice(at, 1)[0] as Extract<YardEvent, { type: Type }>;
  }

  reply(request: number | undefined, answer: RequestAnswer): void {
    this.#takers[request ?? -1]?.(answer);
  }

  /** Accepts the submitted question as this task. */
  accept(id: number): TaskHead {
    const { request, submission } = this.take("task-submitted");
    const task = {
      ...submission,
      id: id as TaskId,
      door: "monique",
      submittedAt: now.wall,
    } as unknown as TaskHead;
    this.reply(request, { type: "accepted", task: task.id, existing: false });
    return task;
  }

  /** Returns the frames that the worker is sent. */
  assign(task: TaskHead): Frames {
    const { worker } = this.take("worker-joined");
    const attempt = 1 as AttemptNumber;
    this.scheduler.deliver({
      ...{ type: "assign", door: "monique", worker, task, attempt, leaseMs: 0, request: undefined },
    });
    const [, frames] = this.pushed.pop() ?? assert.fail("nothing was pushed");
    return frames;
  }
}

for (const form of ["d1", "d3"] as const) {
  describe(`components and the scheduler, ${form}`, () => {
    let yard: Yard;
    let last = 0;
    const makeId = () => {
      last += 1;
      return `id${last}`;
    };
    const client = new MoniqueComponentSession<string>({ creator: "asker", form, makeId });
    const worker = new MoniqueComponentSession<string>({ creator: "worker", form, makeId });
    const read = (frames: Frames) => {
      const reading = readMessage(frames);
      assert.ok(reading.ok && reading.content !== undefined);
      return { header: reading.header, text: dataIn(reading.content, frames[1]).toString() };
    };

    beforeEach(() => {
      yard = new Yard(form);
      yard.scheduler.controller.came("w", spec, "w", "there");
    });

    test("a question is published when it is accepted, and answered as its worker answers", () => {
      const question = client.ask({ spec, data: Buffer.from("[1]") }, "me", now);
      yard.say(question, form);
      assert.deepEqual(yard.published, []);
      const task = yard.accept(1);
      assert.deepEqual(yard.published.pop(), writeMessage(question, form));
      const frames = yard.assign(task);
      assert.deepEqual([...frames], [...writeMessage(question, form)]);
      const answer = worker.answer(read(frames).header, Buffer.from("[2]"), "JSON", now);
      yard.say(answer, form);
      const done = yard.take("attempt-done");
      assert.deepEqual(yard.published, []);
      const { result } = done;
      yard.scheduler.deliver({
        ...{ type: "tell", door: "monique", task },
        outcome: { state: "done", result, error: undefined },
      });
      yard.reply(done.request, { type: "granted", task: task.id });
      const told = yard.published.pop() ?? assert.fail("nothing was published");
      assert.deepEqual([...told], [...writeMessage(answer, form)]);
      assert.equal(client.take(read(told).header), "me");
      assert.equal(yard.take("outcomes-told").tasks[0], task.id);
      assert.deepEqual(yard.faults, []);
    });

    test("after a restart the answer is made anew, in the client's form", () => {
      const question = client.ask({ spec, data: Buffer.from("[1]") }, "me", now);
      yard.say(question, form);
      const task = yard.accept(2);
      const other = new Yard(form === "d1" ? "d3" : "d1");
      const bytes = Buffer.from("[2]");
      other.scheduler.deliver({
        ...{ type: "tell", door: "monique", task },
        outcome: {
          state: "done",
          result: { mediaType: "application/json", size: 3, bytes },
          error: undefined,
        },
      });
      const told = other.published.pop() ?? assert.fail("nothing was published");
      const { header, text } = read(told);
      assert.deepEqual([header.type, header.pid, text], ["result", question.id, "[2]"]);
      assert.equal((told[0][0] as number) >= 0x80, form === "d1");
    });

    test("a worker that failed, and one whose answer nobody waits for", () => {
      yard.say(client.ask({ spec, data: Buffer.from("[1]") }, "me", now), form);
      const task = yard.accept(3);
      const { header } = read(yard.assign(task));
      yard.say(worker.fail(header, 502, "no", now), form);
      assert.deepEqual(yard.take("attempt-failed").error, { code: "502", message: "no" });
      yard.say(worker.fail(header, 502, "again", now), form);
      const sought = yard.take("task-sought");
      yard.reply(sought.request, { type: "refused", code: "wrong_state", message: "" });
      assert.deepEqual(yard.faults, ["second_answer"]);
    });
  });
}
