import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  AttemptNumber,
  Effect,
  TaskHead,
  TaskId,
  WallTime,
  WorkerId,
  YardEvent,
} from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import { bodyOfParts, partsMediaType, partsOf } from "../parts.js";
import { WireFrames } from "../wire-frames.js";
import { readFromWorker } from "./codec.js";
import { PingpongDoorWorker } from "./door-worker.js";
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));

function headOf(id: number, payload: TaskHead["payload"], replyTo?: string): TaskHead {
  return {
    id: id as TaskId,
    queue: "q",
    priority: 0,
    door: "pingpong",
    submittedAt: 0 as WallTime,
    payload,
    policy: { attempts: 5, failures: 1, attemptTimeoutMs: 0, waitingMsMax: 0 },
    key: undefined,
    fingerprint: undefined,
    replyTo: replyTo === undefined ? undefined : { address: replyTo, diesWithConnection: false },
    envelope: undefined,
    notBefore: 0,
    expiresAt: 0,
    relations: undefined,
  };
}

/** A session, with a log of what it did since the log was last read, one line per action. */
function sessionUnderTest(form: PingpongForm = "document") {
  const did: string[] = [];
  let hasRoom = true;
  const session = new PingpongDoorWorker(
    { id: "pingpong/w" as WorkerId, address: "tcp://127.0.0.1:1", queue: "q", form, life: "life" },
    {
      post: (event) => did.push(briefEvent(event)),
      send: (message) => {
        if (hasRoom) did.push(briefMessage(message));
        return hasRoom;
      },
      fault: (kind) => did.push(kind),
      disconnect: () => did.push("disconnect"),
    },
  );
  return {
    session,
    hear: (message: WorkerMessage) => session.receive(message),
    assign: (id: number, job: TaskHead["payload"] = bodyOfParts(bytes(`job ${id}`)), replyTo?: string) => {
      const effect: Extract<Effect, { type: "assign" }> = {
        type: "assign",
        door: "pingpong",
        worker: session.id,
        task: headOf(id, job, replyTo),
        attempt: (100 + id) as AttemptNumber,
        leaseMs: 0,
        request: undefined,
      };
      session.assign(effect);
    },
    setRoom: (room: boolean) => {
      hasRoom = room;
    },
    did: () => did.splice(0),
  };
}

function briefMessage(message: BrokerMessage): string {
  if (message.type === "pong") return "send PONG";
  const to = message.client === undefined ? "" : ` for ${message.client}`;
  return `send ${message.parts.map((part) => JSON.stringify(String(part)))}${to}`;
}

function briefEvent(event: YardEvent): string {
  switch (event.type) {
    case "worker-joined":
      return `joined ${event.profile.queues} with ${event.profile.slots} slot`;
    case "worker-left":
      return `left: ${event.reason}`;
    case "attempt-done":
      return `done ${event.task} as ${event.attempt}: ${partsOf(event.result)}`;
    case "attempt-returned":
      return `returned ${event.task} as ${event.attempt}: ${event.reason}${event.holdMs ? `, hold ${event.holdMs}` : ""}`;
    default:
      return event.type;
  }
}

const ready: WorkerMessage = { type: "ready" };
const ping: WorkerMessage = { type: "ping" };
const disconnect: WorkerMessage = { type: "disconnect", result: bodyOfParts(bytes("DISCONNECT")) };
const result = (...parts: string[]): WorkerMessage => ({
  type: "result",
  result: bodyOfParts(bytes(...parts)),
});

test("READY makes it known, once; nothing is answered", () => {
  const { hear, did } = sessionUnderTest();
  hear(ready);
  assert.deepEqual(did(), ["joined q with 1 slot"]);
  hear(ready);
  assert.deepEqual(did(), []);
});

test("PING is answered at once, and makes a worker known that was not", () => {
  const { hear, did } = sessionUnderTest();
  hear(ping);
  assert.deepEqual(did(), ["send PONG", "joined q with 1 slot"]);
  hear(ping);
  assert.deepEqual(did(), ["send PONG"]);
});

test("a job is sent, and its result counts for its attempt", () => {
  const { hear, assign, did } = sessionUnderTest();
  hear(ready);
  assign(1);
  hear(result("a"));
  assign(2);
  hear(result("b", "c"));
  assert.deepEqual(did(), [
    "joined q with 1 slot",
    'send "job 1"',
    "done 1 as 101: a",
    'send "job 2"',
    "done 2 as 102: b,c",
  ]);
});

test("a result of several parts is stored as parts, one of one part as it is", () => {
  const posted: YardEvent[] = [];
  const session = new PingpongDoorWorker(
    { id: "w" as WorkerId, address: "", queue: "q", form: "document", life: "life" },
    { post: (event) => posted.push(event), send: () => true, fault: () => {}, disconnect: () => {} },
  );
  for (const parts of [bytes("one"), bytes("one", "two")]) {
    session.receive(ready);
    const attempt = 1 as AttemptNumber;
    const task = headOf(1, bodyOf(Buffer.from("j")));
    session.assign({
      type: "assign",
      door: "d",
      worker: session.id,
      task,
      attempt,
      leaseMs: 0,
      request: undefined,
    });
    const reading = readFromWorker(WireFrames.of([Buffer.alloc(0), ...parts]));
    assert.ok(reading.ok);
    session.receive(reading.message);
  }
  const bodies = posted.flatMap((event) => (event.type === "attempt-done" ? [event.result] : []));
  assert.deepEqual(
    bodies.map(({ mediaType }) => mediaType),
    ["application/octet-stream", partsMediaType],
  );
  assert.equal(String(bytesOf(bodies[0])), "one");
});

test("a PING that crossed a job on the wire means a PONG and nothing more", () => {
  const { session, hear, assign, did } = sessionUnderTest();
  hear(ready);
  assign(1);
  did();
  hear(ping);
  assert.deepEqual(did(), ["send PONG"]);
  assert.equal(session.mayExpire, false);
  hear(result("a"));
  assert.deepEqual(did(), ["done 1 as 101: a"]);
});

test("READY from a worker that has a job means it restarted", () => {
  const { hear, assign, did } = sessionUnderTest();
  hear(ready);
  assign(1);
  did();
  hear(ready);
  assert.deepEqual(did(), ["left: restarted", "joined q with 1 slot"]);
  // An answer to a job of before the restart is discarded.
  hear(result("late"));
  assert.deepEqual(did(), ["unexpected_result"]);
});

test("a result without a job is dropped, and the worker is idle", () => {
  const { session, hear, did } = sessionUnderTest();
  hear(result("a"));
  assert.deepEqual(did(), ["unexpected_result", "joined q with 1 slot"]);
  hear(result("b"));
  assert.deepEqual(did(), ["unexpected_result"]);
  assert.equal(session.mayExpire, true);
});

test("DISCONNECT is a goodbye from an idle worker, and a result from a busy one", () => {
  const { session, hear, assign, did } = sessionUnderTest();
  hear(disconnect);
  assert.deepEqual(did(), []);
  hear(ready);
  assign(1);
  did();
  hear(disconnect);
  assert.deepEqual(did(), ["done 1 as 101: DISCONNECT"]);
  hear(disconnect);
  assert.deepEqual(did(), ["left: goodbye"]);
  assert.equal(session.mayExpire, false);
});

test("a job that is just PONG does not fit, whatever the form", () => {
  for (const form of ["document", "program"] as const) {
    const { session, hear, assign, did } = sessionUnderTest(form);
    hear(ready);
    did();
    assign(1, bodyOf(Buffer.from("PONG"), "text/plain"));
    assert.deepEqual(did(), ["returned 1 as 101: does_not_fit"]);
    assert.equal(session.mayExpire, true);
  }
});

test("a payload of parts becomes frames; one of no parts, an empty frame", () => {
  const { hear, assign, did } = sessionUnderTest();
  hear(ready);
  assign(1, bodyOfParts(bytes("a", "", "b")));
  hear(result("r"));
  assign(2, bodyOf(Buffer.alloc(0), "text/plain"));
  assert.deepEqual(did(), ["joined q with 1 slot", 'send "a","","b"', "done 1 as 101: r", 'send ""']);
});

/** [pingpong 3.1] Name of the job of task `id` in program form. */
const nameOf = (id: number) => `life.${(100 + id).toString(36)}`;
const named = (id: number, text: string): WorkerMessage => ({
  type: "result",
  result: bodyOfParts(bytes(text)),
  client: Buffer.from(nameOf(id)),
});

test("in program form a job carries the name of its attempt, and the result that names it counts", () => {
  const { hear, assign, did } = sessionUnderTest("program");
  hear(ready);
  assign(1, undefined, "client-1");
  hear(named(1, "r"));
  assign(2);
  assert.deepEqual(did(), [
    "joined q with 1 slot",
    `send "job 1" for ${nameOf(1)}`,
    "done 1 as 101: r",
    `send "job 2" for ${nameOf(2)}`,
  ]);
});

test("in program form READY from a worker that has a job is a ping", () => {
  const { session, hear, assign, did } = sessionUnderTest("program");
  hear(ready);
  assign(1);
  did();
  hear(ready);
  hear(ping);
  assert.deepEqual(did(), ["send PONG", "send PONG"]);
  assert.equal(session.mayExpire, false);
  hear(named(1, "of 1"));
  assert.deepEqual(did(), ["done 1 as 101: of 1"]);
});

test("in program form an answer that names no open attempt is refused, and the job stays out", () => {
  const { hear, assign, did } = sessionUnderTest("program");
  hear(named(7, "of another life"));
  assert.deepEqual(did(), ["unexpected_result", "joined q with 1 slot"]);
  assign(1);
  hear(named(1, "of 1"));
  assign(2);
  did();
  hear(named(1, "of 1 again"));
  hear({ ...named(2, "of nobody"), client: Buffer.alloc(0) } as WorkerMessage);
  assert.deepEqual(did(), ["unexpected_result", "unexpected_result"]);
  hear(named(2, "of 2"));
  assert.deepEqual(did(), ["done 2 as 102: of 2"]);
});

test("in program form an answer that names nothing ends the connection of a worker that has a job", () => {
  const { session, hear, assign, did } = sessionUnderTest("program");
  hear(result("early"));
  assert.deepEqual(did(), ["other_form", "joined q with 1 slot"]);
  assign(1);
  did();
  hear(result("of 1"));
  session.finish(bodyOf(Buffer.from("the same by the fast path")));
  assert.deepEqual(did(), ["other_form", "disconnect", "other_form", "disconnect"]);
});

test("in program form DISCONNECT is a goodbye, with a job or without", () => {
  const { hear, assign, did } = sessionUnderTest("program");
  hear(ready);
  assign(1);
  did();
  hear(disconnect);
  assert.deepEqual(did(), ["left: goodbye"]);
});

test("in document form a worker that goes on pinging at work is counted, once a job", () => {
  const { hear, assign, did } = sessionUnderTest();
  hear(ready);
  for (const id of [1, 2]) {
    assign(id);
    did();
    // The first ping may have crossed the job.
    hear(ping);
    assert.deepEqual(did(), ["send PONG"]);
    hear(ping);
    hear(ping);
    assert.deepEqual(did(), ["send PONG", "pings_at_work", "send PONG"]);
    hear(result("r"));
  }
});

test("a job that cannot be sent comes back, and the worker is left in peace for a while", () => {
  const { session, hear, assign, did, setRoom } = sessionUnderTest();
  hear(ready);
  did();
  setRoom(false);
  assign(1);
  assert.deepEqual(did(), ["returned 1 as 101: undelivered, hold 1000"]);
  assert.equal(session.mayExpire, true);
});

test("silence ends an idle worker, and a PING brings it back", () => {
  const { session, hear, did } = sessionUnderTest();
  assert.equal(session.mayExpire, false);
  hear(ready);
  assert.equal(session.mayExpire, true);
  did();
  session.leave("silence");
  assert.deepEqual([did(), session.mayExpire], [["left: silence"], false]);
  session.leave("connection_closed");
  assert.deepEqual(did(), []);
  hear(ping);
  assert.deepEqual(did(), ["send PONG", "joined q with 1 slot"]);
});

test("an assignment that was decided before the worker left is not carried out", () => {
  const { session, hear, assign, did } = sessionUnderTest();
  assign(1);
  hear(ready);
  session.leave("silence");
  did();
  assign(2);
  assert.deepEqual(did(), []);
});

test("an assignment that outlived its worker's life never mixes up two results", () => {
  const { session, hear, assign, did } = sessionUnderTest();
  hear(ready);
  session.leave("silence");
  hear(ping);
  did();
  // Task 1 was assigned before the worker restarted, task 2 after it.
  assign(1);
  assign(2);
  hear(result("of 1"));
  assert.deepEqual(did(), ['send "job 1"', "returned 2 as 102: busy, hold 1000", "done 1 as 101: of 1"]);
});

test("one that was dismissed asks again with its next PING", () => {
  const { session, hear, did } = sessionUnderTest();
  hear(ready);
  session.dismiss();
  assert.equal(session.mayExpire, false);
  did();
  hear(ping);
  assert.deepEqual(did(), ["send PONG", "joined q with 1 slot"]);
});
