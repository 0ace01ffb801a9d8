// Tasks and messages of the picture yard: a list of failed ones, one with two lost attempts, and
// its messages on the wire.

import { pictureImage } from "./picture-image.js";
import { seeded } from "./picture-workers.js";

const iso = (ms: number) => new Date(ms).toISOString();

function task(id: string, now: number, given: object) {
  return {
    id,
    queue: "render",
    state: "waiting",
    priority: 0,
    key: null,
    door: "http",
    replyTo: null,
    submittedAt: iso(now - 60_000),
    startedAt: null,
    finishedAt: null,
    attempt: null,
    worker: null,
    contentType: "application/json",
    payloadBytes: 1_204,
    resultBytes: null,
    error: null as { code: string; message: string } | null,
    why: null as object | null,
    told: false,
    story: [{ at: iso(now - 60_000), to: "waiting", cause: "submitted" }] as object[],
    losses: 0,
    failures: 0,
    lossesMax: 5,
    failuresMax: 1,
    retries: null,
    ahead: null as number | null,
    leaseUntil: null as string | null,
    limitAt: null,
    ...given,
  };
}

/**
 * Done at the third attempt: one connection closed, one attempt overran its limit and answered too
 * late.
 */
export function storiedTask(now: number) {
  const at = (s: number) => iso(now - 3_600_000 + s * 1_000);
  const epoch = 4_294_967_296;
  return task("776907", now, {
    state: "done",
    priority: 5,
    key: "frame-2207",
    submittedAt: at(0),
    startedAt: at(0.02),
    finishedAt: at(14.2),
    attempt: epoch + 3,
    worker: "http/ann",
    resultBytes: pictureImage().length,
    payloadBytes: 111,
    told: true,
    losses: 2,
    story: [
      { at: at(0), to: "waiting", cause: "submitted" },
      { at: at(0.02), to: "running", cause: "assigned", attempt: epoch + 1, worker: "pingpong/gpu-04" },
      {
        at: at(4.1),
        to: "waiting",
        cause: "lost: connection_closed",
        attempt: epoch + 1,
        worker: "pingpong/gpu-04",
      },
      { at: at(4.13), to: "running", cause: "assigned", attempt: epoch + 2, worker: "pingpong/gpu-02" },
      {
        at: at(9.13),
        to: "waiting",
        cause: "lost: time_limit",
        attempt: epoch + 2,
        worker: "pingpong/gpu-02",
      },
      { at: at(10.28), to: "running", cause: "assigned", attempt: epoch + 3, worker: "http/ann" },
      {
        at: at(10.92),
        to: "running",
        cause: "late: done refused",
        attempt: epoch + 2,
        worker: "pingpong/gpu-02",
      },
      { at: at(14.2), to: "done", cause: "done", attempt: epoch + 3, worker: "http/ann" },
    ],
  });
}

export function waitingTask(now: number) {
  const epoch = 4_294_967_296;
  return task("3943012", now, {
    queue: "transcode",
    contentType: "video/mp4",
    payloadBytes: 48_000_000,
    submittedAt: iso(now - 440_000),
    losses: 1,
    ahead: 0,
    why: { code: "no_worker", message: "No worker serves queue transcode." },
    story: [
      { at: iso(now - 440_000), to: "waiting", cause: "submitted" },
      { at: iso(now - 439_900), to: "running", cause: "assigned", attempt: epoch + 9, worker: "pulse/3" },
      {
        at: iso(now - 372_000),
        to: "waiting",
        cause: "lost: silence",
        attempt: epoch + 9,
        worker: "pulse/3",
      },
    ],
  });
}

export function failedTasks(now: number) {
  const random = seeded(21);
  const kinds = [
    ["render", "exit_137", "killed for memory: 15.9 of 16 GB", "pingpong/gpu-04", "http"],
    ["fit-models", "ValueError", "could not convert string to float: 'nan,'", "scaler/w-12", "scaler"],
    ["emails", "http_504", "smtp-relay timed out after 30 s", "http/kim", "http"],
  ] as const;
  return Array.from({ length: 184 }, (_, at) => {
    const [queue, code, message, worker, door] =
      kinds[Math.floor(random() * 2.4 + (at > 40 ? 0.6 : 0))] ?? kinds[0];
    const submitted = now - 19_000 - at * 14_000 - random() * 6_000;
    return task(String(4_176_067 - at * 6_617), now, {
      queue,
      state: "failed",
      door,
      worker,
      attempt: 4_294_967_301,
      submittedAt: iso(submitted),
      startedAt: iso(submitted + 20),
      finishedAt: iso(submitted + 20 + 800 + random() * 3_000),
      error: { code, message },
      failures: 1,
    });
  });
}

export function wireMessages(now: number, from: number) {
  const random = seeded(from);
  const types = [
    ["scaler", "in", "client", "client-a1", "TK", 318],
    ["scaler", "out", "worker", "w-12", "TK", 318],
    ["udp", "in", "client", "10.0.4.61:40122", "add_task", 214],
    ["scaler", "in", "worker", "w-17", "TR", 47],
    ["http", "in", "worker", "10.0.4.9", "POST :claim", 0],
    ["http", "out", "worker", "10.0.4.9", "200 attempts", 1_288],
    ["pingpong", "in", "worker", "gpu-05", "job result", 2_210],
    ["pingpong", "out", "worker", "gpu-05", "job", 1_188],
    ["udp", "in", "client", "10.0.4.90:61000", "not_json", 1_024],
    ["udp", "in", "worker", "10.0.4.22:5601", "completed_task", 188],
  ] as const;
  return Array.from({ length: 6 }, (_, at) => {
    const [door, direction, side, peer, type, bytes] = types[Math.floor(random() * types.length)] ?? types[0];
    const isTr = type === "TR";
    const data = isTr
      ? Buffer.from(
          "5452" +
            "9f3c11e05b424d1a8e77c0132fa67ad2" +
            "53" +
            "3d97c1bd" +
            "0000000002750000" +
            "b77e20c4903d4f66a10c5d2873b9e91f",
          "hex",
        )
      : Buffer.from(`{"type":"${type}"}`);
    return {
      at: iso(now - 100 + at * 15),
      door,
      direction,
      side,
      peer,
      address: peer.includes(":") ? peer : "10.0.5.17:60210",
      type,
      bytes,
      task: type === "not_json" ? null : String(4_183_374 + Math.floor(random() * 4)),
      content: type,
      data: door === "http" ? null : data.toString("base64"),
      dataBytes: data.length,
      fields: isTr
        ? [
            { name: "type", at: 0, bytes: 2, value: "TR" },
            { name: "task", at: 2, bytes: 16, value: "9f3c…7ad2" },
            { name: "status", at: 18, bytes: 1, value: "S" },
            { name: "duration", at: 19, bytes: 4, value: "0.0741 s" },
            { name: "peak memory", at: 23, bytes: 8, value: "41.2 MB" },
            { name: "result", at: 31, bytes: 16, value: "b77e…e91f" },
          ]
        : [],
      fault: type === "not_json" ? "not_json" : null,
    };
  });
}
