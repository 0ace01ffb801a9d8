// Both ends' sessions joined through the codec, without a network and with the test's clock.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttemptNumber, Instant, Moment, TaskHead, TaskId, WorkerId, YardEvent } from "@yardmaster/core";
import { bodyOfParts, partsOf } from "../parts.js";
import { WireFrames } from "../wire-frames.js";
import { readFromBroker, readFromWorker, writeFromWorker, writeToWorker } from "./codec.js";
import { PingpongDoorWorker } from "./door-worker.js";
import type { PingpongForm } from "./messages.js";
import { defaultPingpongWorkerSettings, PingpongWorkerSession } from "./worker-session.js";

const at = (ms: number) => ({ instant: ms as Instant, wall: ms }) as Moment;

/** A door's session and a worker's. Frames stay on the wire until the test carries them over. */
class Dialogue {
  readonly posted: YardEvent[] = [];
  readonly toDoor: Buffer[][] = [];
  readonly toWorker: Buffer[][] = [];
  readonly jobs: string[] = [];
  now = 0;
  reconnects = 0;
  readonly worker: PingpongWorkerSession;
  #form: PingpongForm;
  door: PingpongDoorWorker;

  constructor(form: PingpongForm) {
    this.#form = form;
    this.door = this.#newDoor();
    this.worker = new PingpongWorkerSession(defaultPingpongWorkerSettings, {
      send: (message) => this.toDoor.push(writeFromWorker(message)),
      work: (parts) => this.jobs.push(parts.join("+")),
      reconnect: () => {
        this.reconnects += 1;
      },
    });
  }

  #newDoor(): PingpongDoorWorker {
    const id = "w" as WorkerId;
    return new PingpongDoorWorker(
      { id, address: "", queue: "q", form: this.#form, life: "life" },
      {
        post: (event) => this.posted.push(event),
        send: (message) => this.toWorker.push(writeToWorker(message)) > 0,
        fault: (kind) => assert.fail(kind),
        disconnect: () => assert.fail("disconnected"),
      },
    );
  }

  connect(): void {
    this.worker.connected(at(this.now));
  }

  /** Closes the connection: frames on the wire are lost, and both ends notice. */
  cut(): void {
    this.toDoor.length = 0;
    this.toWorker.length = 0;
    this.door.leave("connection_closed");
    this.door = this.#newDoor();
    this.worker.disconnected();
  }

  carryToDoor(): void {
    for (const frames of this.toDoor.splice(0)) {
      const reading = readFromWorker(WireFrames.of(frames));
      assert.ok(reading.ok);
      this.door.receive(reading.message);
    }
  }

  carryToWorker(): void {
    for (const frames of this.toWorker.splice(0)) {
      const reading = readFromBroker(frames, this.#form);
      assert.ok(reading.ok);
      this.worker.receive(reading.message, at(this.now));
    }
  }

  carry(): void {
    while (this.toDoor.length + this.toWorker.length > 0) {
      this.carryToDoor();
      this.carryToWorker();
    }
  }

  /** Lets time pass; messages arrive at once. */
  pass(ms: number): void {
    const end = this.now + ms;
    for (let next = this.worker.nextDeadline(); next !== undefined && next <= end; ) {
      this.now = next;
      this.worker.handleTimeout(at(next));
      this.carry();
      next = this.worker.nextDeadline();
    }
    this.now = end;
  }

  assign(id: number, ...parts: string[]): void {
    const payload = bodyOfParts(parts.map((part) => Buffer.from(part)));
    const task = {
      id: id as TaskId,
      payload,
      replyTo: { address: "c", diesWithConnection: false },
    } as TaskHead;
    const attempt = id as AttemptNumber;
    const worker = this.door.id;
    this.door.assign({ type: "assign", door: "d", worker, task, attempt, leaseMs: 0, request: undefined });
  }

  finish(...parts: string[]): void {
    this.worker.finish(
      parts.map((part) => Buffer.from(part)),
      at(this.now),
    );
  }

  events(): string[] {
    return this.posted.splice(0).map((event) => {
      if (event.type === "attempt-done") return `done ${event.task} ${partsOf(event.result).join("+")}`;
      return event.type === "worker-left" ? `left ${event.reason}` : event.type;
    });
  }
}

for (const form of ["document", "program"] as const) {
  test(`a worker's life, in ${form} form`, () => {
    const dialogue = new Dialogue(form);
    dialogue.connect();
    dialogue.carry();
    dialogue.pass(10_000);
    assert.deepEqual([dialogue.events(), dialogue.reconnects], [["worker-joined"], 0]);
    dialogue.assign(1, "a", "b");
    dialogue.carry();
    dialogue.pass(60_000);
    // A result that looks like a word of the dialect is still a result.
    dialogue.finish("PING");
    dialogue.carry();
    assert.deepEqual([dialogue.jobs, dialogue.events()], [["a+b"], ["done 1 PING"]]);
    dialogue.assign(2, "c");
    dialogue.carry();
    dialogue.finish();
    dialogue.carry();
    assert.deepEqual([dialogue.jobs, dialogue.events()], [["a+b", "c"], ["done 2 "]]);
  });
}

test("a PING and a job that cross on the wire", () => {
  const dialogue = new Dialogue("document");
  dialogue.connect();
  dialogue.carry();
  dialogue.worker.handleTimeout(at(1_000));
  dialogue.now = 1_000;
  dialogue.assign(1, "a");
  assert.deepEqual([dialogue.toDoor.length, dialogue.toWorker.length], [1, 1]);
  dialogue.carryToWorker();
  dialogue.carry();
  dialogue.finish("r");
  dialogue.carry();
  assert.deepEqual([dialogue.jobs, dialogue.events()], [["a"], ["worker-joined", "done 1 r"]]);
});

test("a connection that is lost under a job: the result stays with the old one, the worker comes back", () => {
  const dialogue = new Dialogue("document");
  dialogue.connect();
  dialogue.carry();
  dialogue.assign(1, "a");
  dialogue.carry();
  dialogue.events();
  dialogue.cut();
  dialogue.connect();
  dialogue.carry();
  assert.deepEqual(dialogue.events(), ["left connection_closed"]);
  dialogue.finish("of 1");
  dialogue.carry();
  assert.deepEqual(dialogue.events(), ["worker-joined"]);
  dialogue.assign(2, "b");
  dialogue.carry();
  dialogue.finish("of 2");
  dialogue.carry();
  assert.deepEqual(dialogue.events(), ["done 2 of 2"]);
});

test("a broker that forgot its worker: the next PING makes it known", () => {
  const dialogue = new Dialogue("document");
  dialogue.connect();
  dialogue.carry();
  dialogue.door.leave("silence");
  dialogue.pass(1_000);
  assert.deepEqual(dialogue.events(), ["worker-joined", "left silence", "worker-joined"]);
});

test("a broker that is silent: the worker starts over", () => {
  const dialogue = new Dialogue("document");
  dialogue.connect();
  dialogue.carry();
  for (const ms of [1_000, 2_000, 3_000]) dialogue.worker.handleTimeout(at(ms));
  assert.deepEqual([dialogue.reconnects, dialogue.toDoor.length], [1, 2]);
  dialogue.cut();
  dialogue.connect();
  dialogue.carry();
  assert.deepEqual(dialogue.events(), ["worker-joined", "left connection_closed", "worker-joined"]);
});
