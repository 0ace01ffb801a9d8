// Both ends' sessions joined through the codec, without a network and with the test's clock.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttemptNumber, Instant, Moment, TaskHead, TaskId, YardEvent } from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import {
  readControl,
  readPulse,
  readPulseResponse,
  readWorkerResponse,
  writeControl,
  writePulse,
  writePulseResponse,
  writeWorkerResponse,
} from "./codec.js";
import { PulseController } from "./controller.js";
import { extraSizeOf, MessageFramer, noExtra } from "./framer.js";
import type { Numbering, Reading, WithExtra } from "./messages.js";
import { defaultPulseWorkerSettings, PulseWorkerSession } from "./worker-session.js";

function through<Message>(framer: MessageFramer<Message>, bytes: Buffer): WithExtra<Message> {
  const reading = framer.push(bytes) as Reading<WithExtra<Message>>;
  assert.ok(reading?.ok);
  return reading.message;
}

class Dialogue {
  readonly events: string[] = [];
  readonly jobs: string[] = [];
  readonly controller: PulseController;
  readonly worker: PulseWorkerSession;
  /** Messages on the wire; calling one delivers it. */
  readonly #wire: (() => void)[] = [];
  now = 0;
  readonly #numbering: Numbering;

  constructor(numbering: Numbering) {
    this.#numbering = numbering;
    this.controller = this.#newController();
    this.worker = new PulseWorkerSession(defaultPulseWorkerSettings, {
      pulse: (pulse) => this.#wire.push(() => this.#carryPulse(writePulse(pulse, numbering))),
      listen: () => this.#wire.push(() => this.worker.listening(this.moment)),
      work: (task, payload) => this.jobs.push(`${task} ${payload}`),
      abandon: () => this.jobs.push("abandoned"),
      ended: () => this.jobs.push("ended"),
    });
  }

  get moment(): Moment {
    return { instant: this.now as Instant, wall: this.now } as Moment;
  }

  #newController(): PulseController {
    const options = {
      door: "pulse",
      queue: "q",
      numbering: "auto",
      workersMax: 9,
      addressOf: String,
    } as const;
    return new PulseController(options, {
      post: (event) => this.#posted(event),
      fault: (kind) => this.events.push(`fault ${kind}`),
      gone: () => {},
      control: (peer, { type, taskId, extra }) => {
        const message = {
          type,
          extraSize: BigInt(extra.length),
          ...(taskId === undefined ? {} : { taskId }),
        };
        const bytes = Buffer.concat([writeControl(message, peer.numbering), extra]);
        this.#wire.push(() => {
          const form = this.#numbering;
          const asked = through(new MessageFramer((read) => readControl(read, form), extraSizeOf), bytes);
          const answer = this.worker.control(asked, this.moment);
          const answerBytes = Buffer.concat([writeWorkerResponse(answer.message, form), answer.extra]);
          const framer = new MessageFramer((read) => readWorkerResponse(read, peer.numbering), extraSizeOf);
          peer.answered(type, through(framer, answerBytes));
        });
      },
    });
  }

  #posted(event: YardEvent): void {
    if (event.type === "attempt-done") this.events.push(`done ${event.task} ${bytesOf(event.result)}`);
    else if (event.type === "attempt-failed") this.events.push(`lost ${event.task} ${event.error.message}`);
    else if (event.type === "memo-written" && event.request !== undefined) {
      const { request } = event;
      this.controller.deliver({ type: "reply", door: "pulse", request, answer: { type: "granted" } });
    } else if (event.type !== "worker-beat" && !event.type.startsWith("memo-")) this.events.push(event.type);
  }

  #carryPulse(bytes: Buffer): void {
    const { numberingOf } = this.controller;
    const { message } = through(new MessageFramer((read) => readPulse(read, numberingOf), noExtra), bytes);
    this.controller.receive(message, this.moment, (response) => {
      const answer = writePulseResponse(response, message.numbering);
      const framer = new MessageFramer((read) => readPulseResponse(read, this.#numbering), noExtra);
      this.worker.answered(through(framer, answer).message, this.moment);
    });
  }

  carry(): void {
    for (let carry = this.#wire.shift(); carry !== undefined; carry = this.#wire.shift()) carry();
  }

  pass(ms: number): void {
    const end = this.now + ms;
    for (let next = this.worker.nextDeadline(); next !== undefined && next <= end; ) {
      this.now = next;
      this.controller.handleTimeout(this.moment);
      this.worker.handleTimeout(this.moment);
      this.carry();
      next = this.worker.nextDeadline();
    }
    this.now = end;
    this.controller.handleTimeout(this.moment);
  }

  assign(id: number, text: string, worker = 1): void {
    const task = { id: id as TaskId, payload: bodyOf(Buffer.from(text)) } as TaskHead;
    const attempt = id as AttemptNumber;
    const assign = { type: "assign", door: "pulse", leaseMs: 0, request: undefined } as const;
    this.controller.deliver({ ...assign, worker: `pulse/${worker}` as never, task, attempt });
    this.carry();
  }

  take(): [events: string[], jobs: string[]] {
    return [this.events.splice(0), this.jobs.splice(0)];
  }
}

for (const numbering of ["document", "main"] as const) {
  test(`a worker's life, in ${numbering} numbering`, () => {
    const dialogue = new Dialogue(numbering);
    dialogue.worker.start(dialogue.moment);
    dialogue.carry();
    dialogue.pass(600_000);
    assert.deepEqual(dialogue.take(), [["worker-joined"], []]);
    dialogue.assign(1, "one");
    dialogue.pass(600_000);
    dialogue.worker.finish(Buffer.from("ONE"), dialogue.moment);
    dialogue.carry();
    assert.deepEqual(dialogue.take(), [["done 1 ONE"], ["1 one"]]);
    dialogue.assign(2, "two");
    dialogue.worker.fail("no", dialogue.moment);
    dialogue.carry();
    dialogue.assign(3, "");
    dialogue.worker.finish(Buffer.alloc(0), dialogue.moment);
    dialogue.carry();
    assert.deepEqual(dialogue.take(), [
      ["lost 2 no", "done 3 "],
      ["2 two", "3 "],
    ]);
    dialogue.worker.stop(dialogue.moment);
    dialogue.carry();
    assert.deepEqual(dialogue.take(), [["worker-left"], ["ended"]]);
    assert.equal(dialogue.controller.size, 0);
  });

  test(`a worker that was taken for dead comes back under a new id, in ${numbering} numbering`, () => {
    const dialogue = new Dialogue(numbering);
    dialogue.worker.start(dialogue.moment);
    dialogue.carry();
    dialogue.assign(1, "one");
    dialogue.now += 61_000;
    dialogue.controller.handleTimeout(dialogue.moment);
    assert.deepEqual(dialogue.take(), [["worker-joined", "worker-left"], ["1 one"]]);
    dialogue.pass(1_000);
    assert.deepEqual(dialogue.take(), [["worker-joined"], ["abandoned"]]);
    assert.equal(dialogue.worker.id, 2n);
    // The old task's solution is discarded and is not taken for the new task's.
    dialogue.worker.finish(Buffer.from("late"), dialogue.moment);
    dialogue.assign(2, "two", 2);
    dialogue.worker.finish(Buffer.from("TWO"), dialogue.moment);
    dialogue.carry();
    assert.deepEqual(dialogue.take(), [["done 2 TWO"], ["2 two"]]);
  });
}
