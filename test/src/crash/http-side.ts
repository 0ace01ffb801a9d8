// Clients and workers over http without the SDK. They retry while the dispatcher cannot be reached.

import type { HttpDoors } from "./http-doors.js";
import { type Ledger, markIn } from "./ledger.js";
import { sized, sizedWithMark } from "./sizes.js";
import { pause, workMs } from "./timing.js";

/** True while the crash test goes on. */
export interface Going {
  isSubmitting: boolean;
  isWorking: boolean;
}

interface Task {
  readonly id: string;
  readonly state: string;
  readonly finishedAt: string | null;
}

interface Attempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly payload: string;
}

const againMs = 50;

export interface HttpClientOptions {
  readonly queues: readonly string[];
  /** The longest pause between two tasks. */
  readonly pauseMsMax?: number;
  /** Every n-th submission waits for the outcome. */
  readonly waitsEvery?: number;
}

/**
 * Submits to one queue after the other, each task with its mark as the key, and repeats each until
 * it is acknowledged.
 */
export async function httpClient(
  doors: HttpDoors,
  ledger: Ledger,
  going: Going,
  { queues, pauseMsMax = 20, waitsEvery = 3 }: HttpClientOptions,
): Promise<void> {
  for (let round = 0; going.isSubmitting; round += 1) {
    const queue = queues[round % queues.length] ?? "http";
    const mark = ledger.newMark("http");
    const waits = round % waitsEvery === 0 ? "&wait=2s" : "";
    const isJson = queue === "udp";
    // If a payload has no room for the mark, only an http worker can find it through the key.
    const text = queue === "http" ? sized(mark) : sizedWithMark(mark);
    const body = isJson ? JSON.stringify({ mark }) : text;
    const submit = () =>
      doors.ask(`/v1/queues/${queue}/tasks?key=${encodeURIComponent(mark)}${waits}`, {
        method: "POST",
        body,
        headers: { "content-type": isJson ? "application/json" : "text/plain" },
      });
    // With the same key it is the same task, however often it is submitted.
    while (going.isWorking && !(await submitted(submit, mark, doors, ledger))) await pause(againMs);
    await pause(pauseMsMax * Math.random());
  }
}

async function submitted(
  submit: () => Promise<Response>,
  mark: string,
  doors: HttpDoors,
  ledger: Ledger,
): Promise<boolean> {
  try {
    const askedAt = performance.now();
    const response = await submit();
    if (response.status >= 300) return false;
    const task = (await response.json()) as Task;
    ledger.accepted(mark, task.id);
    ledger.saw(task.id, task, askedAt);
    if (task.state !== "done") return true;
    const result = await doors.ask(`/v1/tasks/${task.id}/result`);
    if (result.status === 200) ledger.told(mark, await result.text());
    return true;
  } catch {
    return false;
  }
}

export async function httpWorker(
  doors: HttpDoors,
  name: string,
  ledger: Ledger,
  going: Going,
): Promise<void> {
  const claim = `/v1/queues/http:claim?worker=${name}&wait=1s&lease=2s`;
  while (going.isWorking) {
    const attempts = await claimed(doors, claim);
    if (attempts === undefined) await pause(againMs);
    for (const attempt of attempts ?? []) {
      const mark = await markOf(doors, attempt.task, Buffer.from(attempt.payload, "base64").toString());
      if (mark === undefined) continue;
      const result = sizedWithMark(ledger.ran(mark, name));
      await pause(workMs());
      const { task, attempt: number, token } = attempt;
      const done = () =>
        doors.ask(`/v1/tasks/${task}/attempts/${number}:done`, {
          method: "POST",
          body: result,
          headers: { "yard-token": token },
        });
      let status = await answered(done);
      for (; going.isWorking && status === undefined; status = await answered(done)) await pause(againMs);
      if (status === 200) ledger.completed(mark, result);
    }
  }
}

/**
 * The mark from the payload, or from the task's key if the payload is too short. Undefined while
 * the dispatcher is down.
 */
export async function markOf(doors: HttpDoors, task: string, payload: string): Promise<string | undefined> {
  const mark = markIn(payload);
  if (mark !== undefined) return mark;
  try {
    const { key } = (await (await doors.ask(`/v1/tasks/${task}`)).json()) as { key?: string };
    return key;
  } catch {
    return undefined;
  }
}

async function claimed(doors: HttpDoors, claim: string): Promise<readonly Attempt[] | undefined> {
  try {
    const response = await doors.ask(claim, { method: "POST" });
    if (response.status === 204) return [];
    return response.status === 200
      ? ((await response.json()) as { attempts: Attempt[] }).attempts
      : undefined;
  } catch {
    return undefined;
  }
}

/** The status, if the answer was accepted, or refused for good. */
async function answered(done: () => Promise<Response>): Promise<number | undefined> {
  try {
    const { status } = await done();
    return status < 500 && status !== 429 ? status : undefined;
  } catch {
    return undefined;
  }
}

/** Repeatedly reads the newest tasks over http, and one of all that were acknowledged. */
export async function httpWatcher(doors: HttpDoors, ledger: Ledger, going: Going): Promise<void> {
  const { acknowledgedIds: ids } = ledger;
  while (going.isWorking) {
    try {
      const askedAt = performance.now();
      const { items } = (await (await doors.ask("/v1/tasks?limit=100")).json()) as { items?: Task[] };
      for (const task of items ?? []) ledger.saw(task.id, task, askedAt);
      const id = ids[Math.floor(ids.length * Math.random())];
      const lookedAt = performance.now();
      if (id !== undefined) await lookAt(id, await doors.ask(`/v1/tasks/${id}`), ledger, lookedAt);
    } catch {
      // The dispatcher is down.
    }
    await pause(100);
  }
}

async function lookAt(id: string, response: Response, ledger: Ledger, askedAt: number): Promise<boolean> {
  if (response.status === 200) ledger.saw(id, (await response.json()) as Task, askedAt);
  else if (response.status === 404) ledger.missed(id);
  return response.status !== 404;
}

const readAtOnce = 16;

/** Looks at these tasks, which were acknowledged. Returns how many are not there. */
export async function httpAudit(doors: HttpDoors, ledger: Ledger, ids: readonly string[]): Promise<number> {
  let lost = 0;
  const rest = [...ids];
  const read = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) {
      const askedAt = performance.now();
      if (!(await lookAt(id, await doors.read(`/v1/tasks/${id}`), ledger, askedAt))) lost += 1;
    }
  };
  await Promise.all(Array.from({ length: readAtOnce }, read));
  return lost;
}
