import assert from "node:assert/strict";
import { test } from "node:test";
import type { Queue } from "../live/api-shapes.js";
import { signalOf, trackNote } from "./queue-signals.js";
import { layOutYard, lineWidth, trainPx } from "./yard-layout.js";
import { yardQueues } from "./yard-queues.js";

function queue(name: string, given: Partial<Queue> = {}): Queue {
  return {
    name,
    waiting: 0,
    running: 0,
    paused: false,
    draining: false,
    waitingBy: {},
    oldestAt: null,
    oldestTask: null,
    workers: 1,
    workersBy: {},
    inPerSecond: [0, 0],
    donePerSecond: [0, 0],
    failedPerSecond: [0, 0],
    inBy: {},
    doneBy: {},
    pausedAt: null,
    pausedBy: null,
    refusedAt: null,
    maxWaiting: 1,
    ...given,
  };
}

test("a line's width is its rate, a train's length its tasks on a log scale", () => {
  assert.deepEqual([0, 0.9, 1, 9, 10, 99, 100].map(lineWidth), [1.5, 1.5, 2, 2, 3.2, 3.2, 4.6]);
  assert.equal(trainPx(0), 0);
  assert.equal(trainPx(1), 7);
  assert.ok(Math.abs(trainPx(1_000) - trainPx(100) - 46) < 1e-9);
});

test("doors do not lie on each other, and the busiest line of a door runs straight", () => {
  const queues = [
    queue("a", { inBy: { http: 1 } }),
    queue("b", { inBy: { http: 200, udp: 1 } }),
    queue("c", { inBy: { scaler: 3 } }),
  ];
  const { doorsIn, linesIn, tracks } = layOutYard(queues, [], 1_360, ["http", "udp", "scaler"]);
  const sorted = [...doorsIn].sort((one, other) => one.y - other.y);
  for (const [at, door] of sorted.entries()) {
    const next = sorted[at + 1];
    if (next) assert.ok(next.y - next.height / 2 > door.y + door.height / 2, `${door.name} ${next.name}`);
  }
  const straight = linesIn.find((line) => line.door === "http" && line.queue === "b");
  assert.match(straight?.path ?? "", new RegExp(`^M\\d+(\\.\\d+)? ${tracks[1]?.y}H`));
  assert.equal(linesIn.length, 4);
});

test("however many lines turn at a door, they turn before the names of the queues", () => {
  const queues = Array.from({ length: 12 }, (_, at) =>
    queue(`q${at}`, { inBy: { http: at === 11 ? 9 : 1 }, doneBy: { http: at === 11 ? 9 : 1 } }),
  );
  for (const width of [900, 1_360, 1_600]) {
    const { columns, linesIn, linesOut } = layOutYard(queues, [], width, ["http"]);
    const xs = (path: string) => [...path.matchAll(/[MHL](-?[\d.]+)/g)].map(([, x]) => Number(x));
    for (const { path } of linesIn) {
      const all = xs(path);
      assert.ok(Math.max(...all) <= columns.queueName - 14 + 0.01, `${width}: ${path}`);
      assert.deepEqual(
        all,
        all.toSorted((a, b) => a - b),
      );
    }
    for (const { path } of linesOut) assert.ok(Math.min(...xs(path)) >= columns.rate + 12 - 0.01, path);
  }
});

test("a hundred queues without a worker do not hide those that work", () => {
  const stopped = Array.from({ length: 100 }, (_, at) =>
    queue(`none-${at}`, { waiting: 1, workers: 0, waitingBy: { no_worker: 1 } }),
  );
  const busy = ["one", "two"].map((name) => queue(name, { running: 3, donePerSecond: [9, 9] }));
  const names = yardQueues([...stopped, ...busy], 0, false).shown.map(({ name }) => name);
  assert.equal(names.length, 12);
  assert.ok(names.includes("one") && names.includes("two"), String(names));
});

test("above twelve queues those in trouble stay, and the order is by name", () => {
  const queues = Array.from({ length: 40 }, (_, at) => queue(`q-${at}`, { donePerSecond: [at, at] }));
  queues[3] = queue("q-3", { waiting: 5, waitingBy: { no_worker: 5 } });
  const { shown, folded } = yardQueues(queues, 0, false);
  assert.equal(shown.length, 12);
  assert.equal(folded, 28);
  assert.ok(shown.some(({ name }) => name === "q-3"));
});

test("a queue's signal shows its problem", () => {
  const now = 100_000;
  const at = (ms: number) => new Date(now - ms).toISOString();
  assert.equal(signalOf(queue("q", { waiting: 1, waitingBy: { no_worker: 1 } }), now), "stopped");
  assert.equal(
    signalOf(queue("q", { waiting: 1, waitingBy: { all_busy: 1 }, oldestAt: at(9_000) }), now),
    "clear",
  );
  assert.equal(
    signalOf(queue("q", { waiting: 1, waitingBy: { all_busy: 1 }, oldestAt: at(11_000) }), now),
    "behind",
  );
  assert.equal(signalOf(queue("q", { waiting: 1, waitingBy: { delayed: 1 } }), now), "later");
  const paused = queue("q", { paused: true, pausedAt: at(0), pausedBy: "10.0.4.2" });
  assert.equal(
    trackNote(paused, signalOf(paused, now + 190_000), now + 190_000),
    "paused 3 min ago by 10.0.4.2",
  );
});
