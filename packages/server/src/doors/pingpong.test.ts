// The pingpong door on real sockets, with the real runtime and the memory engine behind it.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { bodyOfParts, partsMediaType, partsOf, unpackFrames } from "@yardmaster/dialects";
import { Tap, type TappedMessage } from "../door-kit/tap.js";
import { type MakeRouter, realRouter } from "../door-kit/zmq.js";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { PingpongYard, type PingpongYardOptions } from "../testing/pingpong-yard.js";

const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));

let yard: PingpongYard;
async function openYard(options: PingpongYardOptions = {}): Promise<PingpongYard> {
  yard = await new PingpongYard(options).open();
  return yard;
}
afterEach(() => yard.close());

describe("the pingpong door: jobs and results", patience, () => {
  test("jobs wait for the first worker, and go to it in the order they came", async () => {
    await openYard();
    const client = await yard.client();
    for (const job of ["1", "2", "3"]) client.say("", job);
    await yard.task(3);
    assert.equal(yard.why(1), "no_worker");
    const worker = await yard.worker();
    worker.say("", "READY");
    for (const job of ["1", "2", "3"]) {
      assert.deepEqual(await worker.next(), ["", job]);
      worker.say("", `${job} done`);
      assert.deepEqual(await client.next(), ["", `${job} done`]);
    }
    assert.deepEqual(await yard.story(3), ["waiting: submitted", "running: assigned", "done: done"]);
    assert.equal((await yard.finished(3)).progress?.told, true);
  });

  test("of several idle workers the one that rested longest is next", async () => {
    await openYard();
    const client = await yard.client();
    const workers = [await yard.readyWorker("a"), await yard.readyWorker("b"), await yard.readyWorker("c")];
    for (const [index, worker] of workers.entries()) {
      client.say("", `first ${index}`);
      assert.deepEqual(await worker.next(), ["", `first ${index}`]);
    }
    const order = [2, 0, 1].map((index) => workers[index]);
    for (const worker of order) {
      worker?.say("", "done");
      await client.next();
    }
    for (const [index, worker] of order.entries()) {
      client.say("", `second ${index}`);
      assert.deepEqual(await worker?.next(), ["", `second ${index}`]);
    }
  });

  test("a REQ client asks and is answered, over and over", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    const req = await yard.req();
    for (const job of ["a", "b"]) {
      req.say(job);
      assert.deepEqual(await worker.next(), ["", job]);
      worker.say("", job.toUpperCase());
      assert.deepEqual(await req.next(), [job.toUpperCase()]);
    }
  });

  test("correlation frames come back in front of answers, which come in any order", async () => {
    await openYard();
    const [slow, quick] = [await yard.readyWorker("slow"), await yard.readyWorker("quick")];
    const client = await yard.client();
    client.say("c1", "c2", "", "first");
    assert.deepEqual(await slow.next(), ["", "first"]);
    client.say(Buffer.from([0, 1]), "", "second");
    assert.deepEqual(await quick.next(), ["", "second"]);
    quick.say("", "of second");
    assert.deepEqual(await client.next(), ["\u0000\u0001", "", "of second"]);
    slow.say("", "of first");
    assert.deepEqual(await client.next(), ["c1", "c2", "", "of first"]);
  });

  test("two clients are each answered their own", async () => {
    await openYard();
    const [one, other] = [await yard.client(), await yard.client("named")];
    one.say("", "of one");
    await yard.task(1);
    other.say("", "of other");
    await yard.task(2);
    const worker = await yard.worker();
    worker.say("", "READY");
    for (const client of [one, other]) {
      const [, job] = await worker.next();
      worker.say("", `${job}, done`);
      assert.deepEqual(await client.next(), ["", `${job}, done`]);
    }
    assert.deepEqual([one.heard, other.heard], [[], []]);
  });

  test("jobs and results of several frames are kept as they are", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("c", "", "a", "", "b");
    assert.deepEqual(await worker.next(), ["", "a", "", "b"]);
    worker.say("", "", "x", "");
    assert.deepEqual(await client.next(), ["c", "", "", "x", ""]);
    await yard.finished(1);
    for (const part of ["payload", "result"] as const) {
      const body = await yard.body(1, part);
      assert.equal(body?.mediaType, partsMediaType);
      assert.deepEqual(partsOf(body), part === "payload" ? bytes("a", "", "b") : bytes("", "x", ""));
    }
  });

  test("a result in program form counts from any worker, and goes to who asked, whoever it names", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    const [asker, other] = [await yard.client("asker"), await yard.client("other")];
    asker.say("", "job");
    assert.deepEqual(await worker.next(), ["", "job"]);
    worker.say("", "JOB COMPLETE", "other", "", "a", "b");
    assert.deepEqual(await asker.next(), ["", "a", "b"]);
    assert.deepEqual(other.heard, []);
  });

  test("the tap shows what is said, decoded", async () => {
    const tap = new Tap();
    const shown: TappedMessage[] = [];
    await openYard({ tap });
    tap.listen((message) => shown.push(message));
    const worker = await yard.readyWorker("w");
    const req = await yard.req();
    req.say("job");
    await worker.next();
    worker.say("", "result");
    await req.next();
    assert.deepEqual(
      shown.map(({ direction, type, bytes: size }) => `${direction} ${type} ${size}`),
      ["in ready 5", "in job 3", "out job 3", "in result 6", "out result 6"],
    );
  });
});

describe("the pingpong door: workers come, go and are lost", patience, () => {
  test("PING is answered with PONG, and makes an unknown worker known", async () => {
    await openYard();
    const worker = await yard.worker("w");
    worker.say("", "PING");
    assert.deepEqual(await worker.next(), ["", "PONG"]);
    await yard.workerIs("w", "idle");
    const client = await yard.client();
    client.say("", "job");
    assert.deepEqual(await worker.next(), ["", "job"]);
    // This ping crossed the job, so it does not show that the worker is idle.
    client.say("", "another");
    await yard.task(2);
    worker.say("", "PING");
    assert.deepEqual(await worker.next(), ["", "PONG"]);
    worker.say("", "result");
    assert.deepEqual(await client.next(), ["", "result"]);
    assert.deepEqual(await worker.next(), ["", "another"]);
  });

  test("a connected worker that has not said that it is ready gets nothing", async () => {
    await openYard();
    const mute = await yard.worker("mute");
    const client = await yard.client();
    client.say("", "job");
    await yard.task(1);
    assert.equal(yard.why(1), "no_worker");
    const worker = await yard.worker();
    worker.say("", "READY");
    assert.deepEqual(await worker.next(), ["", "job"]);
    assert.deepEqual(mute.heard, []);
  });

  test("an idle worker that is silent is given up, and comes back by a PING", async () => {
    await openYard({ config: { workerExpireSeconds: 0.05 } });
    const worker = await yard.worker("w");
    worker.say("", "READY");
    await yard.workerIs("w", "lost");
    assert.deepEqual(await yard.workerStates(), ["pingpong/w silence"]);
    const client = await yard.client();
    client.say("", "job");
    await yard.task(1);
    assert.deepEqual([yard.why(1), worker.heard], ["no_worker", []]);
    worker.say("", "PING");
    assert.deepEqual(await worker.next(), ["", "PONG"]);
    assert.deepEqual(await worker.next(), ["", "job"]);
    worker.say("", "result");
    assert.deepEqual(await client.next(), ["", "result"]);
  });

  test("a busy worker may be silent for as long as it likes", async () => {
    await openYard({ config: { workerExpireSeconds: 0.05 } });
    const busy = await yard.worker("busy");
    const client = await yard.client();
    client.say("", "job");
    await yard.task(1);
    // The job waits for it, so that it is never idle for as long as the door allows.
    busy.say("", "READY");
    await busy.next();
    // Another worker's silence serves as the clock: when it is over, the busy worker was silent for
    // longer.
    const idle = await yard.worker("idle");
    idle.say("", "READY");
    await yard.workerIs("idle", "lost");
    busy.say("", "result");
    assert.deepEqual(await client.next(), ["", "result"]);
  });

  test("a busy worker whose connection closes: its job is with another at once", async () => {
    await openYard();
    const doomed = await yard.readyWorker("doomed");
    const client = await yard.client();
    client.say("", "job");
    await doomed.next();
    const heir = await yard.readyWorker("heir");
    await doomed.close();
    assert.deepEqual(await heir.next(), ["", "job"]);
    heir.say("", "result");
    assert.deepEqual(await client.next(), ["", "result"]);
    assert.deepEqual(await yard.story(1), [
      "waiting: submitted",
      "running: assigned",
      "waiting: lost: connection_closed",
      "running: assigned",
      "done: done",
    ]);
  });

  test("READY from a busy worker means it restarted: it gets its job again", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("", "job");
    assert.deepEqual(await worker.next(), ["", "job"]);
    worker.say("", "READY");
    assert.deepEqual(await worker.next(), ["", "job"]);
    worker.say("", "result");
    assert.deepEqual(await client.next(), ["", "result"]);
    assert.ok((await yard.story(1)).includes("waiting: lost: restarted"));
  });

  test("one that says DISCONNECT is gone until it says READY", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    worker.say("", "DISCONNECT");
    await yard.workerIs("w", "lost");
    assert.deepEqual(await yard.workerStates(), ["pingpong/w goodbye"]);
    const client = await yard.client();
    client.say("", "job");
    await yard.task(1);
    worker.say("", "READY");
    assert.deepEqual(await worker.next(), ["", "job"]);
  });

  test("a result without a job is dropped and counted, and the worker is idle", async () => {
    await openYard();
    const worker = await yard.worker("w");
    worker.say("", "out of the blue");
    await yard.workerIs("w", "idle");
    assert.equal(yard.door.faults.count("unexpected_result"), 1);
    const client = await yard.client();
    client.say("", "job");
    assert.deepEqual(await worker.next(), ["", "job"]);
  });

  test("an attempt over its time limit goes to another; the late result is nobody's", async () => {
    await openYard({ queues: { pingpong: { attemptTimeoutMs: 50 } } });
    const slow = await yard.readyWorker("slow");
    const client = await yard.client();
    client.say("", "job");
    await slow.next();
    const quick = await yard.worker("quick");
    quick.say("", "READY");
    assert.deepEqual(await quick.next(), ["", "job"]);
    quick.say("", "in time");
    assert.deepEqual(await client.next(), ["", "in time"]);
    // The slot stays taken until the worker answers; then it is free again.
    await quick.close();
    await yard.workerIs("quick", "lost");
    client.say("", "next");
    await yard.task(2);
    assert.equal(yard.why(2), "all_busy");
    slow.say("", "late");
    assert.deepEqual(await slow.next(), ["", "next"]);
    slow.say("", "done");
    assert.deepEqual(await client.next(), ["", "done"]);
    assert.ok((await yard.story(1)).includes("waiting: lost: time_limit"));
  });

  test("a worker that comes back under its own name takes over its old connection", async () => {
    await openYard();
    const old = await yard.readyWorker("me");
    const client = await yard.client();
    client.say("", "job");
    await old.next();
    const back = await yard.worker("me");
    await old.gone;
    await old.close();
    back.say("", "READY");
    assert.deepEqual(await back.next(), ["", "job"]);
    back.say("", "result");
    assert.deepEqual(await client.next(), ["", "result"]);
  });

  test("a worker beyond the limit gets no job, and gets in when another goes", async () => {
    await openYard({ workersMax: 1 });
    const first = await yard.readyWorker("first");
    const second = await yard.worker("second");
    second.say("", "PING");
    assert.deepEqual(await second.next(), ["", "PONG"]);
    await first.close();
    await yard.workerIs("first", "lost");
    assert.equal(yard.door.faults.count("too_many_workers"), 1);
    const client = await yard.client();
    client.say("", "job");
    await yard.task(1);
    second.say("", "PING");
    assert.deepEqual(await second.next(), ["", "PONG"]);
    assert.deepEqual(await second.next(), ["", "job"]);
  });

  test("a worker whose message cannot be read is disconnected, and its job goes to another", async () => {
    await openYard();
    const confused = await yard.readyWorker("confused");
    const client = await yard.client();
    client.say("", "job");
    await confused.next();
    const heir = await yard.readyWorker("heir");
    confused.say("no delimiter");
    await confused.gone;
    assert.deepEqual(await heir.next(), ["", "job"]);
    assert.equal(yard.door.faults.count("no_delimiter"), 1);
  });
});

describe("the pingpong door: jobs without a result", patience, () => {
  test("a job that is just PONG is answered ERROR, and one from elsewhere waits for another door", async () => {
    await openYard();
    await yard.readyWorker("w");
    const client = await yard.client();
    client.say("c", "", "PONG");
    const [, , ...answer] = await client.next();
    assert.deepEqual(answer.slice(0, 2), ["ERROR", "does_not_fit"]);
    const id = await yard.hand.submit("pingpong", "PONG");
    await yard.task(id, () => yard.why(id) === "does_not_fit");
    assert.deepEqual(await yard.story(id), [
      "waiting: submitted",
      "running: assigned",
      "waiting: returned: does_not_fit",
    ]);
  });

  test("a cancelled job is answered ERROR, waiting or running", async () => {
    await openYard();
    const client = await yard.client();
    client.say("", "waits");
    await yard.task(1);
    yard.hand.post({ type: "cancel-asked", task: 1 as TaskId, by: "somebody" });
    assert.deepEqual((await client.next()).slice(0, 3), ["", "ERROR", "cancelled"]);
    const worker = await yard.readyWorker("w");
    client.say("c", "", "runs");
    await worker.next();
    yard.hand.post({ type: "cancel-asked", task: 2 as TaskId, by: "somebody" });
    assert.deepEqual((await client.next()).slice(0, 4), ["c", "", "ERROR", "cancelled"]);
    // The worker does not know about it. Its late answer is dropped and not taken for the answer to
    // its next job.
    client.say("", "next");
    await yard.task(3);
    worker.say("", "of the cancelled one");
    assert.deepEqual(await worker.next(), ["", "next"]);
    worker.say("", "of the next");
    assert.deepEqual(await client.next(), ["", "of the next"]);
  });

  test("a job that takes down its workers is answered ERROR as poison", async () => {
    await openYard({ queues: { pingpong: { attempts: 1 } } });
    const worker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("", "poison");
    await worker.next();
    await worker.close();
    const [, ...answer] = await client.next();
    assert.deepEqual(answer, [
      "ERROR",
      "poison",
      "Lost once with its worker, the last time by connection_closed.",
    ]);
  });

  test("a full queue answers ERROR and does not read its client for a moment", async () => {
    const log: string[] = [];
    await openYard({ queues: { pingpong: { maxWaiting: 1 } }, makeRouter: loggedRouter(log) });
    const client = await yard.client();
    client.say("1", "", "first");
    await yard.task(1);
    client.say("2", "", "second");
    assert.deepEqual((await client.next()).slice(0, 4), ["2", "", "ERROR", "queue_full"]);
    client.say("3", "", "third");
    const worker = await yard.worker();
    worker.say("", "READY");
    const done: string[] = [];
    void worker.next().then(() => worker.say("", "done"));
    while (done.length < 2) {
      const [number = "", , word] = await client.next();
      // On a busy machine the worker may say READY only after the client is read again.
      if (word === "ERROR") client.say("3", "", "third");
      else if (done.push(number) === 1) void worker.next().then(() => worker.say("", "done"));
    }
    assert.deepEqual(done, ["1", "3"]);
    assert.match(
      log.filter((line) => !line.endsWith("READY") && !line.endsWith("done")).join(),
      /^read first(,read (second|third),pause,resume)+,read third$/,
    );
  });

  test("a job over the payload limit in its parts together is answered ERROR", async () => {
    await openYard({ payloadBytesMax: 1000 });
    const client = await yard.client();
    client.say("c", "", "x".repeat(600), "x".repeat(600));
    assert.deepEqual((await client.next()).slice(0, 4), ["c", "", "ERROR", "payload_too_large"]);
  });

  test("a client that is gone leaves its outcome untold, and readable", async () => {
    const log: string[] = [];
    await openYard({ makeRouter: loggedRouter(log) });
    const worker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("", "job");
    await worker.next();
    await client.close();
    await until(() => log.includes("gone") || undefined);
    worker.say("", "result");
    const { progress } = await yard.task(1, (task) => task.progress?.state === "done");
    assert.equal(progress?.told, false);
    assert.equal(String((await yard.body(1, "result"))?.bytes), "result");
  });

  test("a client that comes back under its own name gets the answer", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    const client = await yard.client("me");
    client.say("c", "", "job");
    await worker.next();
    await client.close();
    const back = await yard.client("me");
    // The first answer shows that the door knows this worker.
    back.say("", "PONG");
    await back.next();
    worker.say("", "result");
    assert.deepEqual(await back.next(), ["c", "", "result"]);
  });

  test("while the dispatcher stops, what runs may finish, and what is new is answered ERROR", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("1", "", "runs");
    await worker.next();
    client.say("2", "", "waits");
    await yard.task(2);
    const stopped = yard.runtime.stop(10_000);
    client.say("3", "", "late");
    assert.deepEqual((await client.next()).slice(0, 4), ["3", "", "ERROR", "not_ready"]);
    worker.say("", "result");
    assert.deepEqual(await client.next(), ["1", "", "result"]);
    await stopped;
    assert.deepEqual([await client.gone, await worker.gone], ["closed", "closed"]);
    assert.deepEqual([worker.heard, client.heard], [[], []]);
  });
});

describe("the pingpong door and others on its queue", patience, () => {
  test("a task of another door becomes frames, and its result parts", async () => {
    await openYard({ config: { queue: "shared" } });
    const worker = await yard.readyWorker("w");
    const id = await yard.hand.submit("shared", bodyOfParts(bytes("a", "b")));
    assert.deepEqual(await worker.next(), ["", "a", "b"]);
    worker.say("", "x", "y");
    await yard.finished(id);
    assert.deepEqual(partsOf(await yard.body(id, "result")), bytes("x", "y"));
  });

  test("a client's job is done by a worker of another door, or fails there", async () => {
    await openYard();
    yard.hand.join("h", "pingpong");
    const client = await yard.client();
    client.say("1", "", "a", "b");
    const first = await yard.hand.next("assign");
    assert.deepEqual(partsOf(first.task.payload), bytes("a", "b"));
    yard.hand.done(first, { mediaType: "text/plain", size: 2, bytes: Buffer.from("ok") });
    assert.deepEqual(await client.next(), ["1", "", "ok"]);
    client.say("2", "", "c");
    yard.hand.fail(await yard.hand.next("assign"), "no_disk", "The disk is full.");
    assert.deepEqual(await client.next(), ["2", "", "ERROR", "no_disk", "The disk is full."]);
  });
});

/** Routers that log what is read from which peer, and when a peer is paused. */
function loggedRouter(log: string[]): MakeRouter {
  return (options) => {
    const router = realRouter({
      ...options,
      onMessage: (peer, frames) => {
        log.push(`read ${frames.at(-1)}`);
        options.onMessage?.(peer, frames);
      },
      onPacked: (peer, bytes, from, to) => {
        log.push(`read ${unpackFrames(bytes, from, to).at(-1)}`);
        return options.onPacked?.(peer, bytes, from, to) === true;
      },
      onPeerGone: (peer, reason) => {
        options.onPeerGone?.(peer, reason);
        log.push("gone");
      },
    });
    return {
      bind: (endpoint) => router.bind(endpoint),
      close: () => router.close(),
      disconnect: (peer) => router.disconnect(peer),
      sendTo: (peer, frames) => router.sendTo(peer, frames),
      sendStreamed: (peer, frames) => router.sendStreamed(peer, frames),
      sendPacked: (peer, bytes, from, to) => router.sendPacked(peer, bytes, from, to),
      flush: () => router.flush(),
      pause: (peer) => {
        log.push("pause");
        router.pause(peer);
      },
      resume: (peer) => {
        log.push("resume");
        router.resume(peer);
      },
    };
  };
}
