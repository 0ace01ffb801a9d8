// The answers of the picture yard: queues, problems, figures, failures and a task, as in the
// drawings of the page.

import { type PictureWorker, seeded } from "./picture-workers.js";

const iso = (ms: number) => new Date(ms).toISOString();

export function queuesAt(now: number) {
  const queue = (name: string, given: object) => ({
    name,
    waiting: 0,
    running: 0,
    paused: false,
    draining: false,
    waitingBy: {},
    waitingBytes: 0,
    oldestAt: null as string | null,
    oldestTask: null as string | null,
    workers: 0,
    workersBy: {},
    inPerSecond: [0, 0],
    donePerSecond: [0, 0],
    failedPerSecond: [0, 0],
    inBy: {},
    doneBy: {},
    nextAt: null as string | null,
    pausedAt: null as string | null,
    pausedBy: null as string | null,
    refusedAt: null,
    maxWaiting: 1_000_000,
    ...given,
  });
  return [
    queue("emails", {
      waiting: 260,
      paused: true,
      waitingBy: { paused: 260 },
      oldestAt: iso(now - 171_000),
      oldestTask: "4183001",
      workers: 2,
      workersBy: { http: 2 },
      inPerSecond: [0.4, 0.4],
      inBy: { http: 0.4 },
      pausedAt: iso(now - 180_000),
      pausedBy: "10.0.4.2",
    }),
    queue("thumbs", {
      waiting: 38,
      running: 23,
      waitingBy: { all_busy: 38 },
      oldestAt: iso(now - 200),
      oldestTask: "4183377",
      workers: 6,
      workersBy: { http: 6 },
      inPerSecond: [212, 212],
      donePerSecond: [212, 212],
      inBy: { http: 212 },
      doneBy: { http: 212 },
    }),
    queue("render", {
      waiting: 1204,
      running: 12,
      waitingBy: { all_busy: 1197, backoff: 7 },
      oldestAt: iso(now - 88_000),
      oldestTask: "4180012",
      workers: 12,
      workersBy: { pingpong: 8, http: 4 },
      inPerSecond: [3.4, 3.1],
      donePerSecond: [2.9, 2.9],
      failedPerSecond: [0, 0.02],
      inBy: { http: 2.2, pingpong: 0.9 },
      doneBy: { pingpong: 2.1, http: 0.8 },
    }),
    queue("transcode", {
      waiting: 412,
      waitingBy: { no_worker: 412 },
      oldestAt: iso(now - 372_000),
      oldestTask: "3943012",
      inPerSecond: [1.1, 1.1],
      inBy: { http: 1.1 },
    }),
    queue("sensors", {
      waiting: 3,
      running: 4,
      waitingBy: { all_busy: 3 },
      oldestAt: iso(now - 40),
      oldestTask: "4183300",
      workers: 30,
      workersBy: { udp: 6, scaler: 24 },
      inPerSecond: [12, 12],
      donePerSecond: [12, 12],
      inBy: { udp: 12 },
      doneBy: { udp: 8, scaler: 4 },
    }),
    queue("fit-models", {
      waiting: 8431,
      running: 958,
      waitingBy: { all_busy: 8431 },
      oldestAt: iso(now - 27_000),
      oldestTask: "4170221",
      workers: 24,
      workersBy: { scaler: 24 },
      inPerSecond: [310, 310],
      donePerSecond: [318, 318],
      inBy: { scaler: 310 },
      doneBy: { scaler: 318 },
    }),
    queue("example_clock", {
      running: 1,
      workers: 2,
      workersBy: { monique: 2 },
      inPerSecond: [1, 1],
      donePerSecond: [1, 1],
      inBy: { monique: 1 },
      doneBy: { monique: 1 },
    }),
    queue("nightly", {
      waiting: 5000,
      waitingBy: { delayed: 5000 },
      nextAt: iso(new Date(now).setHours(26, 0, 0, 0)),
    }),
  ];
}

export function alertsAt(now: number) {
  return [
    {
      id: "no_worker:transcode",
      code: "no_worker",
      severity: "stopped",
      words: "transcode: 412 tasks wait and no worker serves the queue. Its last one, pulse/3, fell silent.",
      parts: [
        { text: "transcode", queue: "transcode" },
        { text: ": 412 tasks wait and no worker serves the queue. Its last one, " },
        { text: "pulse/3", worker: "pulse/3" },
        { text: ", fell silent." },
      ],
      since: iso(now - 372_000),
      subject: { queue: "transcode" },
      fixes: [
        { do: "start-worker", label: "Start a worker…", queue: "transcode" },
        { do: "show-worker", label: "What happened to pulse/3", worker: "pulse/3" },
      ],
    },
    {
      id: "same_error:k3",
      code: "same_error",
      severity: "behind",
      words:
        "render: 14 tasks failed with the same error in 10 min (exit_137), 13 of them on pingpong/gpu-04.",
      parts: [
        { text: "render", queue: "render" },
        { text: ": 14 tasks failed with the same error in 10 min (exit_137), 13 of them on " },
        { text: "pingpong/gpu-04", worker: "pingpong/gpu-04" },
        { text: "." },
      ],
      since: iso(now - 605_000),
      subject: { queue: "render", kind: "k3" },
      fixes: [
        { do: "drain-worker", label: "Drain gpu-04", worker: "pingpong/gpu-04" },
        { do: "show-failures", label: "See the 14", kind: "k3" },
      ],
    },
    {
      id: "paused:emails",
      code: "paused",
      severity: "behind",
      words: "emails: paused by 10.0.4.2; 260 tasks wait.",
      parts: [{ text: "emails", queue: "emails" }, { text: ": paused by 10.0.4.2; 260 tasks wait." }],
      since: iso(now - 180_000),
      subject: { queue: "emails" },
      fixes: [{ do: "resume-queue", label: "Resume", queue: "emails" }],
    },
  ];
}

export function figuresAt(now: number, startedAt: number) {
  const wave = Math.sin(now / 7_000);
  return {
    at: iso(now),
    waiting: 15_348 + Math.round(40 * wave),
    running: 998 + Math.round(9 * wave),
    donePerSecond: 546 + 8 * wave,
    failedPerSecond: 0.13,
    inPerSecond: 551,
    oldestAt: iso(startedAt - 372_000),
    oldestTask: "3943012",
    oldestQueue: "transcode",
    queues: 8,
    workers: 52,
    workersIdle: 7,
    workersLost: 3,
    failureKinds: 4,
    alerts: 3,
    done: 163_710,
    failed: 38,
    startedAt: iso(startedAt - 86_400_000),
  };
}

export function beatsAt(now: number, workers: readonly PictureWorker[]) {
  const random = seeded(3);
  return workers.map(({ id, door, slots, state, share }) => {
    const owesNothing = door === "pingpong" && state === "busy";
    const isSilent = id === "scaler/w-09";
    const limitMs = owesNothing ? null : door === "udp" ? 5_000 : door === "monique" ? 10_000 : 60_000;
    const heardMs = isSilent ? 51_000 : id.endsWith("10.0.4.23:5601") ? 3_100 : random() * 2_000;
    const running = Math.round(slots * share);
    return [
      id,
      running,
      81_234,
      id.endsWith("gpu-04") ? 13 : 0,
      Math.round(9 + random() * 800 * (slots > 1 ? 1 : 0.02)),
      Math.round(now - heardMs),
      limitMs,
    ];
  });
}

export function historyAt(now: number, span: string, names: readonly string[]) {
  const shapes = new Map([
    ["5m", [300, 1_000]],
    ["1h", [360, 10_000]],
    ["24h", [720, 120_000]],
  ]);
  const [points = 300, stepMs = 1_000] = shapes.get(span) ?? [];
  const random = seeded(11);
  const rising = (at: number) => (at < points * 0.64 ? 20 : 1_180 + at);
  const series = (names.length === 0 ? [null] : names).map((name) => {
    const at = Array.from({ length: points }, (_, index) => index);
    const is = (value: number) => at.map(() => Math.round(value * (0.9 + 0.2 * random())));
    return {
      name,
      waiting:
        name === "render"
          ? at.map(rising)
          : name === "transcode"
            ? at.map((index) => 100 + index)
            : is(name === null ? 15_300 : 40),
      running: is(name === null ? 998 : 12),
      in:
        name === "render"
          ? at.map((index) => (index === Math.round(points * 0.64) ? 6 : 3 + Math.round(random())))
          : is(546),
      done: name === "render" ? at.map(() => 3 + Math.round(random() - 0.5)) : is((546 * stepMs) / 1_000),
      failed: at.map((index) => (index > points * 0.5 && random() < 0.06 ? 1 + Math.round(random() * 2) : 0)),
      lost: at.map(() => (random() < 0.01 ? 1 : 0)),
      expired: at.map(() => 0),
      oldestMs: at.map((index) => 72_000 + index * 1_000),
    };
  });
  return {
    span,
    stepMs,
    from: iso(now - points * stepMs),
    to: iso(now),
    startedAt: iso(now - 86_400_000),
    series,
    tracked: 8,
    untracked: [],
  };
}

export function failuresAt(now: number, span: string) {
  const random = seeded(5);
  const trend = (shape: (at: number) => number) =>
    Array.from({ length: 60 }, (_, at) => Math.max(0, Math.round(shape(at))));
  const kind = (id: string, given: object) => ({
    id,
    isExpired: false,
    message: "",
    task: "4182720",
    isNew: false,
    worker: null as object | null,
    shares: [] as object[],
    doneSample: 10_320,
    ...given,
  });
  return {
    at: iso(now),
    span,
    tasks: 184,
    kinds: 4,
    stepMs: 60_000,
    items: [
      kind("k1", {
        code: "http_504",
        queue: "emails",
        words: "smtp-relay timed out after … s",
        message: "smtp-relay timed out after 30 s",
        count: 126,
        firstAt: iso(now - 1_440_000),
        lastAt: iso(now - 180_000),
        isNew: true,
        trend: trend((at) => (at > 36 && at < 57 ? (at - 35) / 2 : 0)),
      }),
      kind("k2", {
        code: "ValueError",
        queue: "fit-models",
        words: "could not convert string to float: '…'",
        message: "could not convert string to float: 'nan,'",
        count: 41,
        firstAt: iso(now - 6 * 86_400_000),
        lastAt: iso(now - 35_000),
        trend: trend(() => (random() < 0.5 ? random() * 3 : 0)),
      }),
      kind("k3", {
        code: "exit_137",
        queue: "render",
        words: "killed for memory: … of 16 GB",
        message:
          "blender: rendering frame 2214, tile 61 of 64\nPeak memory 15.91 GB (limit 16.00 GB)\nKilled\nexit code 137",
        count: 14,
        firstAt: iso(now - 600_000),
        lastAt: iso(now - 15_000),
        isNew: true,
        trend: trend((at) => (at > 50 ? random() * 2.4 : 0)),
        worker: { id: "pingpong/gpu-04", count: 13 },
        shares: [
          { of: "worker", value: "pingpong/gpu-04", count: 13, total: 14, doneShare: 0.08 },
          { of: "payload", value: "more than 1 MB", count: 11, total: 14, doneShare: 0.04 },
          { of: "attempt", value: "2", count: 9, total: 14, doneShare: 0.03 },
        ],
      }),
      kind("k4", {
        code: "poison",
        queue: "transcode",
        words: "Lost … times with its worker, the last time by silence.",
        count: 3,
        firstAt: iso(now - 780_000),
        lastAt: iso(now - 360_000),
        isNew: true,
        trend: trend((at) => ([47, 51, 54].includes(at) ? 1 : 0)),
      }),
      kind("k5", {
        code: "expired",
        queue: "sensors",
        words: "was not started in its time",
        isExpired: true,
        count: 9,
        firstAt: iso(now - 86_400_000),
        lastAt: iso(now - 1_900_000),
        trend: trend((at) => ([27, 28].includes(at) ? at - 25 : 0)),
      }),
    ],
    rest: 0,
  };
}
