// The end of a crash test: the load ends, everything settles, and the ledger gives its verdict.

import type { Peer } from "./dialect-sides.js";
import type { HttpDoors } from "./http-doors.js";
import type { Going } from "./http-side.js";
import { type FinalTask, type Ledger, markIn } from "./ledger.js";
import { pause } from "./timing.js";

export interface Load {
  /** They submit until `going` ends. */
  readonly clients: readonly Promise<void>[];
  /** They end with `going`. */
  readonly others: readonly Promise<void>[];
  /** They are stopped at the end. */
  readonly peers: readonly Peer[];
}

/** Maximum time for everything to end after the last fault. */
const settleMsMax = 120_000;
/** Maximum time for clients to receive the outcomes when all tasks have ended. */
const answersMsMax = 10_000;

/** Returns every broken promise, one line each. */
export async function endAndCheck(
  doors: HttpDoors,
  { clients, others, peers }: Load,
  ledger: Ledger,
  going: Going,
): Promise<string[]> {
  going.isSubmitting = false;
  await settle(doors);
  // A client that was still connecting submits only now, and one that closes before its answer
  // would cancel its task.
  await Promise.race([Promise.all(clients), pause(answersMsMax)]);
  const settled = await settle(doors);
  going.isWorking = false;
  await Promise.all([...clients, ...others]);
  const faults = ledger.faults(await allTasks(doors));
  if (!settled) faults.unshift(`after ${settleMsMax / 1000} s there are still tasks without an outcome`);
  await Promise.all(peers.map((peer) => peer.stop()));
  return faults;
}

/** Waits until every task has an outcome. Returns false if that takes too long. */
async function settle(doors: HttpDoors): Promise<boolean> {
  const end = performance.now() + settleMsMax;
  while (performance.now() < end) {
    const open = await Promise.all(
      ["waiting", "running"].map(async (state) => {
        const response = await doors.read(`/v1/tasks?state=${state}&limit=1`);
        return ((await response.json()) as { items: unknown[] }).items.length;
      }),
    );
    if (open.every((count) => count === 0)) return true;
    await pause(100);
  }
  return false;
}

interface Listed {
  readonly id: string;
  readonly key: string | null;
  readonly state: string;
  readonly finishedAt: string | null;
}

async function allTasks(doors: HttpDoors): Promise<FinalTask[]> {
  const tasks: FinalTask[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: string = `/v1/tasks?limit=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const answer = (await (await doors.read(page)).json()) as { items: Listed[]; cursor: string | null };
    tasks.push(...(await Promise.all(answer.items.map((item) => finalTask(doors, item)))));
    cursor = answer.cursor;
  }
  return tasks;
}

async function finalTask(doors: HttpDoors, { id, key, state, finishedAt }: Listed): Promise<FinalTask> {
  const text = async (part: string) => (await doors.read(`/v1/tasks/${id}/${part}`)).text();
  const mark = markIn(key ?? "") ?? markIn(await text("payload"));
  return { id, mark, state, finishedAt, result: state === "done" ? await text("result") : "" };
}
