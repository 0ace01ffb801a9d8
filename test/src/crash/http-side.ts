// Clients and workers over http without the SDK. They retry while the dispatcher cannot be reached.

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

/**
 * Submits to one queue after the other, each task with its mark as the key, and repeats each until
 * it is acknowledged.
 */
export async function httpClient(
  url: string,
  queues: readonly string[],
  ledger: Ledger,
  going: Going,
): Promise<void> {
  for (let round = 0; going.isSubmitting; round += 1) {
    const queue = queues[round % queues.length] ?? "http";
    const mark = ledger.newMark("http");
    const waits = round % 3 === 0 ? "&wait=2s" : "";
    const isJson = queue === "udp";
    // If a payload has no room for the mark, only an http worker can find it through the key.
    const text = queue === "http" ? sized(mark) : sizedWithMark(mark);
    const body = isJson ? JSON.stringify({ mark }) : text;
    const submit = () =>
      fetch(`${url}/v1/queues/${queue}/tasks?key=${encodeURIComponent(mark)}${waits}`, {
        method: "POST",
        body,
        headers: { "content-type": isJson ? "application/json" : "text/plain" },
      });
    // With the same key it is the same task, however often it is submitted.
    while (going.isWorking && !(await submitted(submit, mark, url, ledger))) await pause(againMs);
    await pause(20 * Math.random());
  }
}

async function submitted(
  submit: () => Promise<Response>,
  mark: string,
  url: string,
  ledger: Ledger,
): Promise<boolean> {
  try {
    const response = await submit();
    if (response.status >= 300) return false;
    const task = (await response.json()) as Task;
    ledger.accepted(mark, task.id);
    ledger.saw(task.id, task.state, task.finishedAt);
    if (task.state === "done")
      ledger.told(mark, await (await fetch(`${url}/v1/tasks/${task.id}/result`)).text());
    return true;
  } catch {
    return false;
  }
}

export async function httpWorker(url: string, name: string, ledger: Ledger, going: Going): Promise<void> {
  const claim = `${url}/v1/queues/http:claim?worker=${name}&wait=1s&lease=2s`;
  while (going.isWorking) {
    const attempts = await claimed(claim);
    if (attempts === undefined) await pause(againMs);
    for (const attempt of attempts ?? []) {
      const mark = await markOf(url, attempt.task, Buffer.from(attempt.payload, "base64").toString());
      if (mark === undefined) continue;
      const result = sizedWithMark(ledger.ran(mark, name));
      await pause(workMs());
      const { task, attempt: number, token } = attempt;
      const done = () =>
        fetch(`${url}/v1/tasks/${task}/attempts/${number}:done`, {
          method: "POST",
          body: result,
          headers: { "yard-token": token },
        });
      while (going.isWorking && !(await answered(done))) await pause(againMs);
    }
  }
}

/**
 * The mark from the payload, or from the task's key if the payload is too short. Undefined while
 * the dispatcher is down.
 */
export async function markOf(url: string, task: string, payload: string): Promise<string | undefined> {
  const mark = markIn(payload);
  if (mark !== undefined) return mark;
  try {
    const { key } = (await (await fetch(`${url}/v1/tasks/${task}`)).json()) as { key?: string };
    return key;
  } catch {
    return undefined;
  }
}

async function claimed(claim: string): Promise<readonly Attempt[] | undefined> {
  try {
    const response = await fetch(claim, { method: "POST" });
    if (response.status === 204) return [];
    return response.status === 200
      ? ((await response.json()) as { attempts: Attempt[] }).attempts
      : undefined;
  } catch {
    return undefined;
  }
}

/** True if the answer was accepted, or refused for good. */
async function answered(done: () => Promise<Response>): Promise<boolean> {
  try {
    const { status } = await done();
    return status < 500 && status !== 429;
  } catch {
    return false;
  }
}

/** Repeatedly reads the newest tasks over http. */
export async function httpWatcher(url: string, ledger: Ledger, going: Going): Promise<void> {
  while (going.isWorking) {
    try {
      const { items } = (await (await fetch(`${url}/v1/tasks?limit=100`)).json()) as { items: Task[] };
      for (const { id, state, finishedAt } of items ?? []) ledger.saw(id, state, finishedAt);
    } catch {
      // The dispatcher is down.
    }
    await pause(100);
  }
}
