// Clients and workers over http, as anybody could write them: what cannot be reached is tried again.

import { type Ledger, markIn } from "./ledger.js";
import { sized, sizedWithMark } from "./sizes.js";
import { pause, workMs } from "./timing.js";

/** As long as the crash test goes on. */
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

/** Submits to one queue after another, each task under its mark as the key, until it knows that it was taken. */
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
    // Only an http worker can ask for the key where a payload has no room for the mark.
    const text = queue === "http" ? sized(mark) : sizedWithMark(mark);
    const body = isJson ? JSON.stringify({ mark }) : text;
    const submit = () =>
      fetch(`${url}/v1/queues/${queue}/tasks?key=${encodeURIComponent(mark)}${waits}`, {
        method: "POST",
        body,
        headers: { "content-type": isJson ? "application/json" : "text/plain" },
      });
    // With the same key it is the same task, however often it has to be asked.
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
      const mark = await markOf(url, attempt);
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

/** From the payload, or from the task's key where that is too short; undefined while the dispatcher is dead. */
async function markOf(url: string, { task, payload }: Attempt): Promise<string | undefined> {
  const mark = markIn(Buffer.from(payload, "base64").toString());
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

/** Whether somebody took the answer, or said for good that nobody will. */
async function answered(done: () => Promise<Response>): Promise<boolean> {
  try {
    const { status } = await done();
    return status < 500 && status !== 429;
  } catch {
    return false;
  }
}

/** Looks at what http shows of the newest tasks, over and over. */
export async function httpWatcher(url: string, ledger: Ledger, going: Going): Promise<void> {
  while (going.isWorking) {
    try {
      const { items } = (await (await fetch(`${url}/v1/tasks?limit=100`)).json()) as { items: Task[] };
      for (const { id, state, finishedAt } of items ?? []) ledger.saw(id, state, finishedAt);
    } catch {
      // It is dead just now.
    }
    await pause(100);
  }
}
