// A process that works on a store, for tests that stop, kill or starve it: `store-process.js FOLDER [BATCHES] [TASKS]
// [stepped]`. Stepped, it waits for a line after each batch.
// Says what it does in lines of JSON: {"epoch":1}, {"acked":1}, {"outcome":{…}}, {"fault":"full","message":"…"}.
// A batch that failed is offered a second time: {"again":"…"} is what came of that.

import { once } from "node:events";
import { writeSync } from "node:fs";
import type { TaskId } from "@yardmaster/core";
import { headOf, put, settledOf } from "../../conformance/samples.js";
import { EmbeddedEngine } from "../embedded-engine.js";
import { StoreFault } from "../store-faults.js";

const [folder = "", batches = "1000000", tasksEach = "3", stepped] = process.argv.slice(2);

/** How many bytes went. None while nobody reads: the pipe is full then, and not one that waits. */
function writeSome(line: Buffer, at: number): number {
  try {
    return writeSync(1, line, at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    Atomics.wait(never, 0, 0, 1);
    return 0;
  }
}

const never = new Int32Array(new SharedArrayBuffer(4));

/** Straight to the descriptor: what was said is said, whatever happens next. */
function say(what: unknown): void {
  const line = Buffer.from(`${JSON.stringify(what)}\n`);
  for (let at = 0; at < line.length; ) at += writeSome(line, at);
}

try {
  const engine = new EmbeddedEngine({ folder });
  const { epoch } = await engine.open();
  say({ epoch });
  let last = 0;
  await engine.load((item) => {
    if (item.type === "end") last = item.lastTask;
  });
  for (let number = 1; number <= Number(batches); number++) {
    const ids = Array.from({ length: Number(tasksEach) }, (_, index) => last + index + 1);
    last = ids.at(-1) ?? last;
    // Every second task is settled with the batch that brings it, so that the index and history are at work too.
    const changes = ids.flatMap((id) =>
      id % 2 === 0 ? [put(headOf(id)), put(settledOf(id, id))] : [put(headOf(id))],
    );
    const commit = () => engine.commit({ epoch, number, changes });
    const outcome = await commit().catch(async (error: unknown) => {
      say({ again: await commit().then(({ type }) => type, String) });
      throw error;
    });
    if (outcome.type !== "done") {
      say({ outcome });
      process.exit(3);
    }
    // One that is about to be stopped must not hold LMDB's lock: what it asks for is answered when the store is done.
    if (stepped !== undefined) await engine.task(1 as TaskId);
    say({ acked: number, last });
    if (stepped !== undefined) await once(process.stdin, "data");
  }
  await engine.close();
  process.stdin.destroy();
} catch (error) {
  say({ fault: error instanceof StoreFault ? error.code : "none", message: (error as Error).message });
  process.exit(4);
}
