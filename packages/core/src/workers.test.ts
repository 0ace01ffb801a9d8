// Workers: joining, leaving, asking for work, draining, and the limits on them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WorkerId } from "./names.js";
import { YardDriver } from "./testing/yard-driver.js";

const drop = (yard: YardDriver, request: number) => yard.post("x", { type: "request-dropped", request });

describe("a worker that pulls", () => {
  test("gets what there is at once, and no more than it asks for", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    for (let count = 0; count < 3; count += 1) assert.deepEqual(yard.submit(), []);
    assert.deepEqual(yard.want("p", { max: 2, request: 1, leaseMs: 7000 }), [
      "assign 1 to p as 1.1 for 7000 on 1",
      "assign 2 to p as 1.2 for 7000 on 1",
      "reply 1 granted",
    ]);
    assert.equal(yard.state(3), "waiting");
    assert.deepEqual(yard.done("p", 1), []);
  });

  test("gets fewer where there are fewer", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    assert.deepEqual(yard.want("p", { max: 5, request: 1, forMs: 1000 }), [
      "assign 1 to p as 1.1 for 5000 on 1",
      "reply 1 granted",
    ]);
    assert.deepEqual(yard.submit(), []);
  });

  test("hears at once that there is nothing if it does not wait", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    assert.deepEqual(yard.want("p", { request: 1 }), ["reply 1 no-work"]);
    assert.deepEqual(yard.submit(), []);
  });

  test("that waits gets the first that comes, and only that", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    assert.deepEqual(yard.want("p", { max: 3, request: 1, forMs: 1000 }), []);
    assert.deepEqual(yard.submit(), ["assign 1 to p as 1.1 for 5000 on 1", "reply 1 granted"]);
    assert.deepEqual(yard.submit(), []);
    assert.deepEqual(yard.wait(3000), []);
  });

  test("that waited in vain hears so when its time is over", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.want("p", { request: 1, forMs: 1000 });
    assert.deepEqual(yard.wait(999), []);
    assert.deepEqual(yard.wait(1), ["reply 1 no-work"]);
    assert.deepEqual(yard.submit(), []);
  });

  test("may have several claims open, on several queues", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.want("p", { request: 1, forMs: 1000 });
    yard.want("p", { request: 2, forMs: 1000 });
    yard.want("p", { request: 3, forMs: 1000, queue: "b" });
    assert.deepEqual(yard.submit({ queue: "b" }), ["assign 1 to p as 1.1 for 5000 on 3", "reply 3 granted"]);
    assert.deepEqual(yard.submit(), ["assign 2 to p as 1.2 for 5000 on 1", "reply 1 granted"]);
    assert.deepEqual(yard.submit(), ["assign 3 to p as 1.3 for 5000 on 2", "reply 2 granted"]);
    assert.deepEqual(yard.worker("p")?.queues, ["q", "b"]);
  });

  test("that no longer waits gets nothing", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.want("p", { request: 1, forMs: 1000 });
    assert.deepEqual(drop(yard, 1), []);
    assert.deepEqual(yard.submit(), []);
    assert.deepEqual(yard.wait(2000), []);
    drop(yard, 77);
  });

  test("loses its task when its lease is over, and may ask for it again", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    yard.want("p");
    assert.deepEqual(yard.wait(4999), []);
    assert.deepEqual(yard.wait(1), ["revoke 1 from p as 1.1: lease_over"]);
    assert.equal(yard.core.counters.lostAttempts.of("x", "lease_over"), 1);
    assert.deepEqual(yard.want("p", { request: 1 }), [
      "assign 1 to p as 1.2 for 5000 on 1",
      "reply 1 granted",
    ]);
  });

  test("keeps it by a beat", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    yard.want("p");
    yard.wait(4000);
    assert.deepEqual(yard.beat("p", 1, 3000, { request: 1 }), ["reply 1 beat 3000"]);
    assert.deepEqual(yard.wait(2999), []);
    assert.deepEqual(yard.wait(1), ["revoke 1 from p as 1.1: lease_over"]);
    assert.deepEqual(yard.beat("p", 1, 3000, { request: 2 }), ["reply 2 refused stale_attempt"]);
    assert.deepEqual(yard.done("p", 1, { request: 3 }), ["reply 3 refused stale_attempt"]);
  });

  test("an answer that comes before the end of its lease was noticed still counts", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    yard.want("p");
    yard.pass(6000);
    assert.deepEqual(yard.done("p", 1, { request: 1 }), ["reply 1 granted 1"]);
    assert.deepEqual(yard.timeout(), []);
  });

  test("hears of a cancel at its next beat, for as long as its lease would have lasted", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    yard.want("p");
    assert.deepEqual(yard.cancel(1, 1), ["revoke 1 from p as 1.1: cancelled", "reply 1 granted 1"]);
    assert.deepEqual(yard.beat("p", 1, 5000, { request: 2 }), ["reply 2 beat 0 cancel"]);
    assert.deepEqual(yard.beat("p", 1, 5000, { request: 3 }), ["reply 3 beat 0 cancel"]);
    assert.equal(yard.worker("p")?.running, 1);
    yard.wait(5000);
    assert.equal(yard.worker("p")?.running, 0);
    assert.deepEqual(yard.beat("p", 1, 5000, { request: 4 }), ["reply 4 refused stale_attempt"]);
  });

  test("has its time limit as well, whichever is first", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit({ attemptTimeoutMs: 3000 });
    yard.want("p");
    assert.deepEqual(yard.wait(3000), ["revoke 1 from p as 1.1: time_limit"]);
    assert.deepEqual(yard.beat("p", 1, 5000, { request: 1 }), ["reply 1 beat 0 cancel"]);
  });

  test("lost, it loses its leases and its claims", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    yard.want("p");
    yard.want("p", { request: 1, forMs: 1000 });
    assert.deepEqual(yard.leave("p", "goodbye"), ["reply 1 no-work"]);
    assert.equal(yard.state(1), "waiting");
  });

  test("is refused where it is unknown, does not pull, or there is too much", () => {
    const yard = new YardDriver({ limits: { waitingRequests: 1, queuesPerWorker: 1, queues: 2 } });
    assert.deepEqual(yard.want("p", { request: 1 }), ["reply 1 refused not_found"]);
    yard.join("w");
    assert.deepEqual(yard.want("w", { request: 2 }), ["reply 2 refused not_found"]);
    assert.equal(yard.core.counters.senseless.of("x", "work-claimed"), 2);
    yard.joinPuller("p");
    yard.want("p", { request: 3, forMs: 1000 });
    assert.deepEqual(yard.want("p", { request: 4 }), ["reply 4 refused queue_full"]);
    drop(yard, 3);
    assert.deepEqual(yard.want("p", { request: 5, queue: "b" }), ["reply 5 refused queue_full"]);
    const { limitsReached } = yard.core.counters;
    assert.deepEqual([limitsReached.of("waitingRequests"), limitsReached.of("queuesPerWorker")], [1, 1]);
    yard.leave("p");
    yard.leave("w");
    assert.deepEqual(yard.core.view.queues(), []);
  });

  test("has at most its limit of claims open at a time", () => {
    const yard = new YardDriver({ limits: { claimsPerWorker: 2 } });
    yard.joinPuller("p");
    for (const request of [1, 2]) yard.want("p", { request, forMs: 1000 });
    assert.deepEqual(yard.want("p", { request: 3, forMs: 1000 }), ["reply 3 refused queue_full"]);
    assert.equal(yard.core.counters.limitsReached.of("claimsPerWorker"), 1);
    yard.submit();
    assert.deepEqual(yard.want("p", { request: 4, forMs: 1000 }), []);
  });

  test("shares a queue with workers that have slots, the least loaded first", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.want("p", { request: 1, forMs: 1000 });
    yard.join("y/w", { slots: 2 });
    assert.deepEqual(yard.submit(), ["assign 1 to p as 1.1 for 5000 on 1", "reply 1 granted"]);
    yard.want("p", { request: 2, forMs: 1000 });
    assert.deepEqual(yard.submit(), ["y: assign 2 to y/w as 1.2"]);
  });
});

describe("a worker that ends in order", () => {
  test("gives back what it holds without costing a try, and is not among the lost", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    for (const _ of [1, 2, 3]) yard.submit({ attempts: 1 });
    yard.want("p", { max: 2 });
    yard.want("p", { queue: "other", forMs: 5000, request: 7 });
    assert.deepEqual(yard.retire("p", 8), ["reply 7 no-work", "reply 8 granted"]);
    assert.equal(yard.worker("p"), undefined);
    assert.deepEqual(
      [1, 2, 3].map((task) => yard.story(task).at(-1)),
      ["waiting returned: goodbye 1.1 p", "waiting returned: goodbye 1.2 p", "waiting submitted"],
    );
    assert.equal(yard.core.counters.lostAttempts.of("x", "goodbye"), 0);
    // They are the next, in their order.
    yard.joinPuller("p2");
    assert.deepEqual(yard.want("p2", { max: 9, request: 9 }), [
      "assign 1 to p2 as 1.3 for 5000 on 9",
      "assign 2 to p2 as 1.4 for 5000 on 9",
      "assign 3 to p2 as 1.5 for 5000 on 9",
      "reply 9 granted",
    ]);
    assert.deepEqual(yard.retire("p", 10), ["reply 10 refused not_found"]);
  });

  test("its queue is shown for a minute, although nothing is in it", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.want("p");
    yard.retire("p");
    yard.wait(59_999);
    assert.equal(yard.queue()?.workers, 0);
    yard.wait(1);
    assert.equal(yard.queue(), undefined);
  });

  test("one that came by another door is left alone", () => {
    const yard = new YardDriver();
    yard.join("y/w");
    const worker = "y/w" as WorkerId;
    assert.deepEqual(yard.post("x", { type: "worker-retired", request: 1, worker }), [
      "reply 1 refused bad_request",
    ]);
    assert.equal(yard.worker("y/w")?.state, "idle");
  });
});

describe("drain of a worker", () => {
  test("it gets nothing new, finishes what it holds, and its door hears when it holds nothing", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2 });
    yard.submit();
    assert.deepEqual(yard.drain("w", 1), ["reply 1 granted"]);
    assert.deepEqual(yard.submit(), []);
    assert.equal(yard.worker("w")?.state, "draining");
    assert.equal(yard.why(2), "draining");
    assert.deepEqual(yard.done("w", 1), ["drained w"]);
    assert.equal(yard.state(1), "done");
    assert.deepEqual(yard.drain("w", 2), ["reply 2 granted"]);
    yard.leave("w");
    assert.deepEqual(yard.join("w"), ["assign 2 to w as 1.2"]);
  });

  test("one that holds several is drained with the last", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2 });
    yard.submit();
    yard.submit();
    yard.drain("w");
    assert.deepEqual(yard.done("w", 1), []);
    assert.deepEqual(yard.done("w", 2), ["drained w"]);
  });

  test("an idle one is drained at once, an unknown one is not found", () => {
    const yard = new YardDriver();
    yard.join("y/w");
    assert.deepEqual(yard.drain("y/w", 1), ["y: drained y/w", "reply 1 granted"]);
    assert.deepEqual(yard.drain("v", 2), ["reply 2 refused not_found"]);
  });

  test("one that pulls is refused, and its open claims end", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.want("p", { request: 1, forMs: 1000 });
    assert.deepEqual(yard.drain("p"), ["reply 1 no-work", "drained p"]);
    assert.deepEqual(yard.want("p", { request: 2 }), ["reply 2 refused not_ready"]);
  });

  test("a worker whose lease was revoked is drained when it has answered", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.drain("w");
    yard.cancel(1);
    assert.deepEqual(yard.done("w", 1), ["drained w"]);
  });
});

describe("events that make no sense", () => {
  test("are counted, and nothing else happens", () => {
    const yard = new YardDriver();
    yard.beatWorker("w");
    yard.leave("w");
    yard.join("w");
    yard.submit();
    yard.post("y", { type: "worker-left", worker: "x/w" as never, reason: "goodbye" });
    yard.post("y", { type: "worker-beat", worker: "x/w" as never });
    yard.joinPuller("w");
    const { senseless } = yard.core.counters;
    assert.deepEqual(
      [...senseless.entries()],
      [
        ["x", "worker-beat", 1],
        ["x", "worker-left", 1],
        ["x", "worker-joined", 1],
        ["y", "worker-left", 1],
        ["y", "worker-beat", 1],
      ],
    );
    assert.equal(yard.state(1), "running");
  });
});

describe("a worker's view", () => {
  test("says what it is, what it holds, and when it was last seen", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2, queues: ["q", "r"] });
    const joinedAt = yard.now.wall;
    yard.submit();
    yard.wait(1000);
    yard.post("x", { type: "worker-beat", worker: "x/w" as never, info: { cpu: 7 } });
    assert.deepEqual(yard.worker("w"), {
      id: "x/w",
      door: "x",
      dialect: "test",
      address: "here",
      queues: ["q", "r"],
      slots: 2,
      running: 1,
      state: "busy",
      joinedAt,
      lastSeenAt: joinedAt + 1000,
      lostReason: undefined,
      lostAt: undefined,
      pulls: false,
      done: 0,
      failed: 0,
      donePerMinute: 0,
      info: { cpu: 7 },
    });
    yard.wait(500);
    yard.done("w", 1);
    assert.equal(yard.worker("w")?.lastSeenAt, joinedAt + 1500);
    assert.equal(yard.worker("w")?.state, "idle");
  });
});

describe("limits on workers", () => {
  test("one more than allowed is dismissed; those that are there may speak again", () => {
    const yard = new YardDriver({ limits: { workers: 1 } });
    yard.join("w");
    assert.deepEqual(yard.join("v"), ["dismiss v"]);
    assert.deepEqual(yard.join("w"), []);
    assert.equal(yard.core.counters.limitsReached.of("workers"), 1);
    assert.equal(yard.core.view.workers().length, 1);
  });

  test("slots and queues beyond the limit do not count, and are counted", () => {
    const yard = new YardDriver({ limits: { slotsPerWorker: 2, queuesPerWorker: 2 } });
    yard.join("w", { slots: 3, queues: ["a", "b", "c"] });
    assert.deepEqual(yard.worker("w")?.queues, ["a", "b"]);
    assert.equal(yard.worker("w")?.slots, 2);
    assert.equal(yard.queue("c"), undefined);
    const { limitsReached } = yard.core.counters;
    assert.deepEqual([limitsReached.of("slotsPerWorker"), limitsReached.of("queuesPerWorker")], [1, 1]);
    for (let count = 0; count < 3; count += 1) yard.submit({ queue: "a" });
    assert.equal(yard.queue("a")?.running, 2);
  });

  test("shows only the most recent lost workers", () => {
    const yard = new YardDriver({ limits: { lostWorkers: 1 } });
    for (const name of ["a", "b"]) {
      yard.join(name);
      yard.leave(name);
    }
    assert.deepEqual(
      yard.core.view.workers().map(({ id, state }) => [id, state]),
      [["x/b", "lost"]],
    );
  });
});
