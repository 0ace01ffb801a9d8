// Records for the conformance tests: complete and plain. A test states only the fields that it is
// about.

import type {
  Body,
  Change,
  KeyRecord,
  StoredTask,
  TaskHead,
  TaskId,
  TaskProgress,
  WallTime,
  WorkerId,
} from "@yardmaster/core";

/** A predictable submission time: task n is submitted n seconds after 1970. */
export function submittedAt(id: number): WallTime {
  return (id * 1000) as WallTime;
}

export function bodyOf(text: string): Body {
  const bytes = new TextEncoder().encode(text);
  return { mediaType: "text/plain", size: bytes.length, bytes };
}

/** The same body as a record refers to it when its bytes are out of line. */
export function outOfLine({ mediaType, size }: Body): Body {
  return { mediaType, size };
}

export function headOf(id: number, given: Partial<TaskHead> = {}): TaskHead {
  return {
    id: id as TaskId,
    queue: "render",
    priority: 0,
    door: "http",
    submittedAt: submittedAt(id),
    payload: bodyOf(`payload ${id}`),
    policy: { attempts: 5, failures: 1, attemptTimeoutMs: 0, waitingMsMax: 0 },
    key: undefined,
    fingerprint: undefined,
    replyTo: undefined,
    envelope: undefined,
    notBefore: 0,
    expiresAt: 0,
    relations: undefined,
    ...given,
  };
}

export function progressOf(id: number, given: Partial<TaskProgress> = {}): TaskProgress {
  return {
    id: id as TaskId,
    state: "running",
    attempt: undefined,
    worker: undefined,
    startedAt: undefined,
    finishedAt: undefined,
    losses: 0,
    failures: 0,
    notBefore: 0,
    error: undefined,
    result: undefined,
    told: false,
    settled: 0,
    recovering: false,
    story: [],
    ...given,
  };
}

/** A task that is done, and settled at this position in history. */
export function settledOf(id: number, settled: number, given: Partial<TaskProgress> = {}): TaskProgress {
  const finishedAt = (submittedAt(id) + 500) as WallTime;
  return progressOf(id, { state: "done", told: true, finishedAt, result: bodyOf("ok"), settled, ...given });
}

/** A task in which every field of both records has a value. */
export function richTask(id: number): StoredTask {
  const head = headOf(id, {
    priority: -3,
    payload: { mediaType: "application/octet-stream", size: 4, bytes: Uint8Array.of(0, 255, 10, 128) },
    policy: { attempts: 2, failures: 3, attemptTimeoutMs: 1500, waitingMsMax: 60_000 },
    key: "clé/1",
    fingerprint: "f1",
    replyTo: { address: "10.0.0.1:4711#7", diesWithConnection: false },
    envelope: Uint8Array.of(1, 0, 2),
    notBefore: 1_700_000_000_001 as WallTime,
    expiresAt: 1_700_000_000_002 as WallTime,
    relations: {
      after: [2, 5] as TaskId[],
      ifFailed: "run",
      group: "customer 1",
      schedule: "nightly",
      retryOf: 3 as TaskId,
      by: "ci",
    },
  });
  const attempt = (3 * 2 ** 32 + 7) as NonNullable<TaskProgress["attempt"]>;
  const worker = "udp/10.0.0.2:9" as WorkerId;
  const progress = progressOf(id, {
    state: "failed",
    attempt,
    worker,
    startedAt: 1_700_000_000_003 as WallTime,
    finishedAt: 1_700_000_000_004 as WallTime,
    losses: 1,
    failures: 2,
    error: { code: "reported", message: "Zeile ü failed", detail: "at line 7\nof ü.ts" },
    report: { value: '{"step":3}', message: "halfway ü", at: 1_700_000_000_003 as WallTime },
    result: { ...bodyOf("half"), envelope: Uint8Array.of(3, 1) },
    told: true,
    story: [
      { at: 1_700_000_000_003 as WallTime, to: "running", cause: "assigned", attempt, worker },
      {
        at: 1_700_000_000_004 as WallTime,
        to: "failed",
        cause: "reported",
        attempt: undefined,
        worker: undefined,
      },
    ],
  });
  return { head, progress };
}

export function keyOf(task: number, key: string, queue = "render"): KeyRecord {
  return { queue, key, task: task as TaskId, fingerprint: "f", finishedAt: 5 as WallTime };
}

export function put(record: TaskHead | TaskProgress): Change {
  return "payload" in record ? { kind: "head", head: record } : { kind: "progress", progress: record };
}
