// A client's session and a worker's, joined by a scheduler of a few lines, with the codec between
// them and no network. Each end can read what the other writes, in every form and layout. The real
// scheduler's sessions have their own tests.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import { WireFrames } from "../wire-frames.js";
import { defaultScalerClientSettings, ScalerClientSession, type ScalerWaiter } from "./client-session.js";
import { readFromPeer, writeToClient, writeToWorker } from "./codec.js";
import { readFunctionObject, writeFunctionObject } from "./function-object.js";
import type { PeerMessage, ScalerWire, TaskMessage, ToClient, ToWorker } from "./messages.js";
import { readAtClient, readAtWorker, writeFromClient, writeFromWorker } from "./peer-codec.js";
import { exceptionText } from "./pickle.js";
import { defaultScalerWorkerSettings, type ScalerCall } from "./worker-host.js";
import { ScalerWorkerSession } from "./worker-session.js";

const now = { instant: 0 as Instant, wall: 0 } as Moment;
const bytes = (text: string) => Buffer.from(text);
const hex = (id: Buffer) => id.toString("hex");

/** One client and one worker. Messages stay here until the test carries them over. */
class Ends {
  readonly client: ScalerClientSession;
  readonly worker: ScalerWorkerSession;
  readonly outcomes: string[] = [];
  readonly #wire: ScalerWire;
  readonly #lying: (() => void)[] = [];
  readonly #objects = new Map<string, [name: Buffer, bytes: Buffer]>();
  #results = 0;

  constructor(wire: ScalerWire) {
    this.#wire = wire;
    this.client = new ScalerClientSession(bytes("me"), bytes("json"), defaultScalerClientSettings, {
      send: (message) => {
        const frames = writeFromClient(message);
        this.#lying.push(() => this.#fromClient(taken(readFromPeer(WireFrames.of(frames), "r"))));
      },
      reconnect: () => assert.fail("nobody is silent"),
      resources: () => ({ cpu: 1, rssBytes: 2n }),
    });
    this.worker = new ScalerWorkerSession(
      bytes("w-1"),
      { ...defaultScalerWorkerSettings, wire },
      {
        send: (message) => {
          const frames = writeFromWorker(message, wire);
          this.#lying.push(() => this.#fromWorker(taken(readFromPeer(WireFrames.of(frames), wire))));
        },
        run: (call) => this.#run(call),
        abort: () => {},
        reconnect: () => assert.fail("nobody is silent"),
        ended: () => this.outcomes.push("the worker left"),
        resources: () => ({ pid: 1, cpu: 1, rssBytes: 2n, freeRssBytes: 3n }),
        unique: () => {
          this.#results += 1;
          return Buffer.alloc(16, this.#results);
        },
      },
    );
  }

  carry(): void {
    for (let next = this.#lying.shift(); next !== undefined; next = this.#lying.shift()) next();
  }

  submit(name: string, ...words: string[]): void {
    const called = this.client.objects.hold(name, writeFunctionObject({ name }));
    const given = words.map((word) => ({
      kind: "R" as const,
      id: this.client.objects.hold("<obj>", bytes(word)),
    }));
    const task = bytes(`${name} ${words.join(" ")}`);
    this.client.submit({ task, function: called, arguments: given, priority: 0 }, this.waiter(String(task)));
  }

  waiter(name: string): ScalerWaiter {
    return {
      done: (result) => this.outcomes.push(`${name}: ${result}`),
      failed: (reason, error) => this.outcomes.push(`${name} ${reason}: ${error && exceptionText(error)}`),
    };
  }

  get objects(): number {
    return this.#objects.size;
  }

  #run({ run, function: called, arguments: given }: ScalerCall): void {
    const { name } = readFunctionObject(called) ?? { name: "nothing" };
    if (name === "upper") this.worker.finish(run, bytes(given.join(" ").toUpperCase()), now);
    else this.worker.fail(run, `no function ${name}`, now);
  }

  #fromClient(message: PeerMessage): void {
    if (message.type === "task") this.#toWorker(message);
    else if (message.type === "client-heartbeat") this.#toClient({ type: "client-heartbeat-echo" });
    else this.#common(message, (answer) => this.#toClient(answer));
  }

  #fromWorker(message: PeerMessage): void {
    if (message.type === "heartbeat") this.#toWorker({ type: "heartbeat-echo" });
    else if (message.type === "task-result") this.#toClient(message);
    else if (message.type === "disconnect-request")
      this.#toWorker({ ...message, type: "disconnect-response" });
    else this.#common(message, (answer) => this.#toWorker(answer));
  }

  #common(message: PeerMessage, answer: (answer: ToWorker & ToClient) => void): void {
    if (message.type === "object-create") {
      message.ids.forEach((id, index) => {
        this.#objects.set(hex(id), [message.names[index], message.bytes[index]] as [Buffer, Buffer]);
      });
    } else if (message.type === "object-delete") {
      for (const id of message.ids) this.#objects.delete(hex(id));
      this.#toWorker(message);
    } else if (message.type === "object-request") {
      const found = message.ids.map((id) => this.#objects.get(hex(id))) as [Buffer, Buffer][];
      answer({
        type: "object-answer",
        kind: "content",
        ids: message.ids,
        names: found.map(([name]) => name),
        bytes: found.map(([, content]) => content),
        hasSplitCounts: this.#wire === "d-split",
      });
    } else assert.fail(`${message.type} was not expected`);
  }

  #toWorker(message: ToWorker | TaskMessage): void {
    const frames = writeToWorker(message, this.#wire);
    this.#lying.push(() => this.worker.receive(taken(readAtWorker(frames, this.#wire)), now));
  }

  #toClient(message: ToClient): void {
    const frames = writeToClient(message);
    this.#lying.push(() => this.client.receive(taken(readAtClient(frames)), now));
  }
}

function taken<Message>(reading: { ok: true; message: Message } | { ok: false; fault: string }): Message {
  assert.ok(reading.ok, reading.ok ? "" : reading.fault);
  return reading.message;
}

for (const wire of ["r", "r-packed", "d", "d-packed", "d-split"] as const) {
  test(`a client's tasks and a worker, ${wire}`, () => {
    const ends = new Ends(wire);
    ends.submit("upper", "early");
    ends.worker.connected(now);
    ends.client.connected(now);
    ends.submit("upper", "one", "two");
    ends.submit("upper");
    ends.submit("lower", "one");
    ends.carry();
    assert.deepEqual(ends.outcomes.splice(0), [
      "upper early: EARLY",
      // This node waits for nothing, so it begins before the one that does.
      "upper : ",
      "upper one two: ONE TWO",
      "lower one failed: no function lower",
    ]);
    const later = { ...now, instant: 100 as Instant };
    ends.client.handleTimeout(later);
    ends.carry();
    assert.equal(ends.objects, 2, "the serializer's two are left");
    ends.worker.leave(now);
    ends.carry();
    assert.deepEqual(ends.outcomes, ["the worker left"]);
  });
}
