// The words for each problem, and the condition under which it is reported.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  defaultQueueSettings,
  type QueueView,
  type TaskId,
  type WallTime,
  type WorkerId,
} from "@yardmaster/core";
import { type Alert, alertsMax, alertsOf, type WorkerInSight, type YardState } from "./alerts.js";
import type { LostWorker } from "./loss-log.js";

const now = new Date(2026, 10, 16, 14, 32, 7).getTime() as WallTime;
const ago = (ms: number) => (now - ms) as WallTime;

const queueOf = (fields: Partial<QueueView>): QueueView => ({
  name: "render",
  label: "render",
  waiting: 0,
  waitingBytes: 0,
  running: 0,
  depended: 0,
  oldestAt: undefined,
  oldestTask: undefined,
  workers: 0,
  workersBy: {},
  unavailable: 0,
  paused: false,
  draining: false,
  waitingBy: {},
  inPerSecond: [0, 0],
  donePerSecond: [0, 0],
  failedPerSecond: [0, 0],
  inBy: {},
  doneBy: {},
  pausedAt: undefined,
  pausedBy: undefined,
  refusedAt: undefined,
  refusingSince: undefined,
  maxWaiting: 1_000_000,
  groups: 0,
  settings: defaultQueueSettings,
  overridden: [],
  ...fields,
});

const workerOf = (fields: Partial<WorkerInSight>): WorkerInSight => ({
  id: "scaler/w-09" as WorkerId,
  door: "scaler",
  dialect: "scaler",
  address: "",
  queues: ["fit-models"],
  slots: 40,
  running: 40,
  state: "busy",
  joinedAt: ago(1),
  lastSeenAt: ago(51_000),
  lostReason: undefined,
  lostAt: undefined,
  pulls: false,
  done: 0,
  failed: 0,
  donePerMinute: 0,
  info: undefined,
  silence: undefined,
  ...fields,
});

const lostOf = (fields: Partial<LostWorker>): LostWorker => ({
  id: "pingpong/gpu-07",
  door: "pingpong",
  address: "",
  queues: ["render"],
  joinedAt: ago(70_000),
  at: ago(60_000),
  reason: "connection_closed",
  held: 1,
  tasks: [],
  became: new Map(),
  ...fields,
});

function alerts(state: Partial<YardState>): readonly Alert[] {
  return alertsOf({
    now,
    queues: [],
    workers: [],
    lost: [],
    failures: [],
    faults: [],
    slowDisk: undefined,
    stall: undefined,
    undelivered: { count: 0, since: now, keptMs: 0 },
    refusing: undefined,
    ...state,
  }).items;
}

const wordsOf = (state: Partial<YardState>) => alerts(state).map(({ words }) => words);

describe("the words of problems", () => {
  test("no worker", () => {
    const queues = [
      queueOf({ name: "transcode", waiting: 412, waitingBy: { no_worker: 412 }, oldestAt: ago(372_000) }),
    ];
    const [alert] = alerts({ queues });
    assert.deepEqual(alert, {
      id: "no_worker:transcode",
      code: "no_worker",
      severity: "stopped",
      words: "transcode: 412 tasks wait and no worker serves the queue.",
      parts: [
        { text: "transcode", queue: "transcode" },
        { text: ": 412 tasks wait and no worker serves the queue." },
      ],
      since: ago(372_000),
      subject: { queue: "transcode" },
      fixes: [{ do: "start-worker", label: "Start a worker…", queue: "transcode" }],
    });
    assert.deepEqual(wordsOf({ queues: [queueOf({ waitingBy: { no_worker: 1 }, workers: 2 })] }), [
      "render: 1 task waits and none of its workers asks for them.",
    ]);
  });

  test("all busy, from ten seconds on", () => {
    const busy = { waitingBy: { all_busy: 1_197 }, workers: 12, oldestTask: 7 as TaskId };
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...busy, oldestAt: ago(88_000) })] }), [
      "render: all 12 workers are busy; the oldest task waits 1 min 28 s.",
    ]);
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...busy, oldestAt: ago(10_000) })] }), []);
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...busy, workers: 2, oldestAt: ago(11_000) })] }), [
      "render: both workers are busy; the oldest task waits 11 s.",
    ]);
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...busy, workers: 1, oldestAt: ago(11_000) })] }), [
      "render: its one worker is busy; the oldest task waits 11 s.",
    ]);
    const late = { ...busy, workers: 3, oldestAt: ago(11_000) };
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...late, unavailable: 1 })] }), [
      "render: all 3 workers are busy or unavailable; the oldest task waits 11 s.",
    ]);
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...late, unavailable: 3 })] }), [
      "render: all 3 workers are unavailable or busy with other work; the oldest task waits 11 s.",
    ]);
  });

  test("the same error, and on which worker", () => {
    const words = "killed for memory";
    const failure = { kind: "k1", queue: "render", code: "exit_137", words, count: 14, since: ago(600_000) };
    const on = { ...failure, worker: { id: "pingpong/gpu-04", count: 13 } };
    const workers = [workerOf({ id: "pingpong/gpu-04" as WorkerId })];
    const [alert] = alerts({ failures: [on], workers });
    assert.equal(
      alert?.words,
      "render: 14 tasks failed with the same error in 10 min (exit_137), 13 of them on gpu-04.",
    );
    assert.deepEqual(
      alert?.fixes.map(({ label }) => label),
      ["Drain gpu-04", "See the 14"],
    );
    // A worker that is gone cannot be drained.
    assert.deepEqual(
      alerts({ failures: [on] })[0]?.fixes.map(({ label }) => label),
      ["See the 14"],
    );
    const spread = { ...failure, worker: { id: "pingpong/gpu-04", count: 5 } };
    assert.deepEqual(wordsOf({ failures: [spread] }), [
      "render: 14 tasks failed with the same error in 10 min (exit_137).",
    ]);
    assert.deepEqual(wordsOf({ failures: [{ ...on, count: 4 }] }), []);
    // A failure without a code of its own is told by its words.
    assert.deepEqual(wordsOf({ failures: [{ ...spread, code: "failed", words: "cannot read …" }] }), [
      "render: 14 tasks failed with the same error in 10 min (cannot read …).",
    ]);
    const [long] = wordsOf({ failures: [{ ...spread, code: "failed", words: "a b ".repeat(100) }] });
    assert.ok((long ?? "").length < 130, long);
  });

  test("paused, while tasks wait", () => {
    const paused = {
      name: "emails",
      paused: true,
      waiting: 260,
      pausedBy: "10.0.4.2",
      pausedAt: ago(180_000),
    };
    assert.deepEqual(wordsOf({ queues: [queueOf(paused)] }), ["emails: paused by 10.0.4.2; 260 tasks wait."]);
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...paused, waiting: 0 })] }), []);
    const before = queueOf({ ...paused, waiting: 1, pausedBy: undefined });
    assert.deepEqual(wordsOf({ queues: [before] }), ["emails: paused; 1 task waits."]);
  });

  test("a silent worker that holds tasks, beyond four fifths of its limit", () => {
    const silence = { limitMs: 60_000, silentAt: (now + 9_000) as WallTime };
    assert.deepEqual(wordsOf({ workers: [workerOf({ silence })] }), [
      "scaler/w-09: silent for 51 s; counted as lost in 9 s. It holds 40 tasks.",
    ]);
    assert.deepEqual(wordsOf({ workers: [workerOf({ silence, running: 0, state: "idle" })] }), []);
    assert.deepEqual(wordsOf({ workers: [workerOf({})] }), []);
    const early = { limitMs: 60_000, silentAt: (now + 12_000) as WallTime };
    assert.deepEqual(wordsOf({ workers: [workerOf({ silence: early })] }), []);
  });

  test("a lost worker, and what became of its tasks", () => {
    const task = { id: 7 as TaskId, queue: "render", state: "done" as const, worker: "pingpong/gpu-02" };
    assert.deepEqual(wordsOf({ lost: [lostOf({ tasks: [task] })] }), [
      "gpu-07 was lost: its connection closed. gpu-02 ran its task.",
    ]);
    const waiting = { ...task, state: "waiting" as const, worker: undefined };
    assert.deepEqual(wordsOf({ lost: [lostOf({ tasks: [waiting], reason: "silence" })] }), [
      "gpu-07 was lost: it fell silent. Its task waits.",
    ]);
    const became = new Map([
      ["done", 38],
      ["waiting", 1],
      ["running", 1],
    ]);
    assert.deepEqual(wordsOf({ lost: [lostOf({ held: 40, became })] }), [
      "gpu-07 was lost: its connection closed. Of its 40 tasks, 38 were run by others, 1 is running elsewhere, 1 waits.",
    ]);
    assert.deepEqual(wordsOf({ lost: [lostOf({ held: 0 })] }), []);
  });

  test("a worker that is lost again and again is one problem", () => {
    const task = { id: 7 as TaskId, queue: "render", state: "waiting" as const, worker: undefined };
    const lost = [
      lostOf({ at: ago(1_000), reason: "silence" }),
      lostOf({ id: "pingpong/gpu-08", at: ago(2_000), tasks: [task] }),
      lostOf({ at: ago(20_000) }),
      lostOf({ at: ago(30_000), held: 0 }),
      lostOf({ at: ago(40_000) }),
    ];
    const all = alerts({ lost });
    assert.deepEqual(
      all.map(({ words, since }) => [words, since]),
      [
        ["gpu-07 was lost 3 times in 10 min, the last time because it fell silent.", ago(40_000)],
        ["gpu-08 was lost: its connection closed. Its task waits.", ago(2_000)],
      ],
    );
  });

  test("tasks that fit no worker", () => {
    const unfit = { name: "sensors", waitingBy: { does_not_fit: 3 }, workers: 6, workersBy: { udp: 6 } };
    assert.deepEqual(wordsOf({ queues: [queueOf(unfit)] }), [
      "sensors: 3 tasks are too large for a datagram, and only udp workers serve the queue.",
    ]);
  });

  test("a full queue, for as long as it refuses", () => {
    const full = {
      name: "fit-models",
      waiting: 1_000_000,
      refusingSince: ago(127_000),
      refusedAt: ago(1_000),
    };
    const [alert] = alerts({ queues: [queueOf(full)] });
    assert.equal(
      alert?.words,
      "fit-models is full: 1,000,000 tasks wait, and new ones have been refused since 14:30.",
    );
    assert.equal(alert?.parts[2]?.time, new Date(ago(127_000)).toISOString());
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...full, refusedAt: ago(61_000) })] }), []);
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...full, waiting: 3, refusedAt: ago(20_000) })] }), [
      "fit-models was full and refused new tasks, since 14:30 and until 20 s ago; 3 tasks wait now.",
    ]);
    const settings = { ...defaultQueueSettings, maxBytes: 1_000 };
    assert.deepEqual(wordsOf({ queues: [queueOf({ ...full, waiting: 3, waitingBytes: 990, settings })] }), [
      "fit-models is full: 3 tasks wait, and new ones have been refused since 14:30.",
    ]);
  });

  test("problems of the process itself", () => {
    assert.deepEqual(
      wordsOf({
        slowDisk: { commitMs: 400, usualMs: 2, since: ago(5_000) },
        stall: { at: ago(30_000), ms: 1_300 },
        undelivered: { count: 6, since: ago(60_000), keptMs: 7 * 24 * 3_600_000 },
        refusing: { reason: "the disk has 3 MB left.", since: ago(1) },
      }),
      [
        "New tasks are refused: the disk has 3 MB left.",
        "The disk is slow: a commit takes 0.4 s (normally 2 ms), and every acknowledgement waits for it.",
        "6 outcomes could not be delivered because their clients disconnected. They stay readable here for up to 7 days.",
        "The dispatcher stalled for 1.3 s; no worker's silence was counted.",
      ],
    );
    assert.deepEqual(wordsOf({ stall: { at: now, ms: 499 } }), []);
  });

  test("what peers do wrong", () => {
    const fault = { door: "udp", kind: "not_json", peer: "10.0.4.90", count: 31, since: ago(1_000) };
    assert.deepEqual(wordsOf({ faults: [fault] }), ["31 datagrams from 10.0.4.90 were not JSON."]);
    assert.deepEqual(wordsOf({ faults: [{ ...fault, door: "pingpong", kind: "bad_form" }] }), [
      "31 pingpong messages from 10.0.4.90 were refused (bad_form).",
    ]);
    assert.deepEqual(wordsOf({ faults: [{ ...fault, count: 9 }] }), []);
  });

  test("parts joined are the words, worst come first, then longest, and their number is bounded", () => {
    const queues = Array.from({ length: 150 }, (_, n) =>
      n % 2 === 0
        ? queueOf({ name: `n${n}`, waitingBy: { no_worker: 1 }, oldestAt: ago(n * 1_000) })
        : queueOf({ name: `p${n}`, paused: true, waiting: 1, pausedAt: ago(n) }),
    );
    const list = alertsOf({ ...emptyState, queues });
    assert.equal(list.items.length, alertsMax);
    assert.equal(list.more, 50);
    assert.equal(list.items[0]?.id, "no_worker:n148");
    assert.equal(list.items[75]?.id, "paused:p149");
    for (const { parts, words } of list.items) assert.equal(parts.map(({ text }) => text).join(""), words);
  });
});

const emptyState: YardState = {
  now,
  queues: [],
  workers: [],
  lost: [],
  failures: [],
  faults: [],
  slowDisk: undefined,
  stall: undefined,
  undelivered: { count: 0, since: now, keptMs: 0 },
  refusing: undefined,
};
