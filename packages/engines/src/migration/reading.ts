// Reads everything that an engine holds: all tasks by rising id, each with its bodies, and then all
// other records. The order matters to the store that takes them: an engine stores tasks fastest in
// the order in which they were accepted.

import type { Body, Change, StoredTask } from "@yardmaster/core";
import { StoreFault } from "../embedded/store-faults.js";
import type { BodyPart, Engine, LoadItem, TaskPage } from "../engine.js";
import { Tally } from "./tally.js";

const pageTasks = 512;
/** Bodies outside their records are in memory together up to this size, or one alone. */
const groupBytes = 16 * 2 ** 20;
/** Other records go together up to this count and size. */
const groupRecords = 1024;

export interface WholeTask {
  readonly task: StoredTask;
  /** With their bytes. */
  readonly payload: Body;
  readonly result: Body | undefined;
}

/** The numbers that a store must never use again. */
export interface Marks {
  readonly lastTask: number;
  /** The greatest place of each lane of history. */
  readonly lanes: readonly number[];
}

export interface Taker {
  readonly tasks: (tasks: readonly WholeTask[]) => Promise<void>;
  readonly others: (changes: readonly Change[]) => Promise<void>;
}

export interface Contents {
  readonly tally: Tally;
  readonly marks: Marks;
}

/** `onRead` is told how many tasks were read, out of how many. */
export async function readAll(
  engine: Engine,
  taker: Partial<Taker>,
  onRead: (read: number, total: number) => void,
): Promise<Contents> {
  const tally = new Tally();
  const { cursors, total } = await pagesOf(engine);
  let read = 0;
  let settled = 0;
  for (const cursor of cursors.reverse()) {
    const { items } = await pageAt(engine, cursor);
    for (const group of groupsOf([...items].reverse(), outsideBytes)) {
      const tasks = await Promise.all(group.map((task) => wholeTask(engine, task)));
      for (const { task, payload, result } of tasks) {
        tally.addTask(task, payload, result);
        if ((task.progress?.settled ?? 0) > 0) settled += 1;
      }
      await taker.tasks?.(tasks);
      read += tasks.length;
      onRead(read, total);
    }
  }
  const { changes, large, live, inHistory, marks } = await loaded(engine);
  if (read !== total || settled !== inHistory || read - settled !== live) {
    throw new StoreFault(
      "damaged",
      `The store has ${live} unfinished and ${inHistory} finished tasks, and ${read - settled} and ${settled} of them were read (check it with yardmaster serve --repair)`,
    );
  }
  for (const group of groupsOf(changes, memoBytes)) {
    for (const change of group) tally.addOther(change);
    await taker.others?.(group);
  }
  for (const { door, name } of large) {
    const bytes = await engine.memo(door, name);
    if (bytes === undefined) throw new StoreFault("damaged", `The memo ${name} of ${door} cannot be read`);
    const change: Change = { kind: "memo", memo: { door, name, bytes } };
    tally.addOther(change);
    await taker.others?.([change]);
  }
  return { tally, marks };
}

interface Pages {
  /** Where each page begins, newest first. */
  readonly cursors: (string | undefined)[];
  readonly total: number;
}

async function pagesOf(engine: Engine): Promise<Pages> {
  const cursors: (string | undefined)[] = [];
  let total = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await pageAt(engine, cursor);
    cursors.push(cursor);
    total += page.items.length;
    if (page.cursor === undefined) return { cursors, total };
    cursor = page.cursor;
  }
}

function pageAt(engine: Engine, cursor: string | undefined): Promise<TaskPage> {
  return engine.find({ limit: pageTasks, ...(cursor !== undefined && { cursor }) });
}

async function wholeTask(engine: Engine, task: StoredTask): Promise<WholeTask> {
  const { head, progress } = task;
  const payload = await wholeBody(engine, task, "payload", head.payload);
  const result = progress?.result && (await wholeBody(engine, task, "result", progress.result));
  return { task, payload, result };
}

async function wholeBody(engine: Engine, { head }: StoredTask, part: BodyPart, body: Body): Promise<Body> {
  if (body.bytes !== undefined) return body;
  const whole = await engine.body(head.id, part);
  if (whole?.bytes?.length === body.size) return whole;
  throw new StoreFault("damaged", `The ${part} of task ${head.id} cannot be read`);
}

interface Loaded {
  readonly changes: readonly Change[];
  readonly large: readonly Extract<LoadItem, { type: "large-memo" }>[];
  readonly live: number;
  readonly inHistory: number;
  readonly marks: Marks;
}

/** Everything but the tasks themselves. A dispatcher that starts holds as much in memory. */
async function loaded(engine: Engine): Promise<Loaded> {
  const changes: Change[] = [];
  const large: Extract<LoadItem, { type: "large-memo" }>[] = [];
  let live = 0;
  let inHistory = 0;
  let marks: Marks = { lastTask: 0, lanes: [0] };
  await engine.load((item) => {
    if (item.type === "task") live += 1;
    else if (item.type === "key") changes.push({ kind: "key", key: item.key });
    else if (item.type === "queue") changes.push({ kind: "queue", queue: item.queue });
    else if (item.type === "door") changes.push({ kind: "door", door: item.door });
    else if (item.type === "memo") changes.push({ kind: "memo", memo: item.memo });
    else if (item.type === "large-memo") large.push(item);
    else if (item.type === "segment") inHistory += item.segment.count;
    else marks = { lastTask: item.lastTask, lanes: item.lanes ?? [item.lastSettled] };
  });
  return { changes, large, live, inHistory, marks };
}

/** Consecutive items that are small enough together. */
function* groupsOf<Item>(items: readonly Item[], bytesOf: (item: Item) => number): Generator<Item[]> {
  let group: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const more = bytesOf(item);
    if (group.length > 0 && (bytes + more > groupBytes || group.length === groupRecords)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(item);
    bytes += more;
  }
  if (group.length > 0) yield group;
}

function outsideBytes({ head, progress }: StoredTask): number {
  return [head.payload, progress?.result].reduce(
    (sum, body) => sum + (body === undefined || body.bytes !== undefined ? 0 : body.size),
    0,
  );
}

function memoBytes(change: Change): number {
  return change.kind === "memo" ? change.memo.bytes.length : 0;
}
