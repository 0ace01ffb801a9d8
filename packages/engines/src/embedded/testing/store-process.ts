// A process that works on a store, for tests that stop, kill or starve it: `store-process.js FOLDER
// [BATCHES] [TASKS] [stepped]`. With `stepped` it waits for a line of input after each batch.
// It reports in lines of JSON: {"epoch":1}, {"acked":1}, {"outcome":{…}},
// {"fault":"full","message":"…"}. A failed batch is offered a second time, and {"again":"…"} is the
// outcome of that.

import { once } from "node:events";
import { writeSync } from "node:fs";
import { headOf, put, settledOf } from "../../conformance/samples.js";
import { EmbeddedEngine } from "../embedded-engine.js";
import { StoreFault } from "../store-faults.js";

const [folder = "", batches = "1000000", tasksEach = "3", stepped] = process.argv.slice(2);

/** Returns the number of bytes written; 0 while the pipe, which does not block, is full. */
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

/** Writes directly to the descriptor, so that a report is out before anything else happens. */
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
    // Every second task settles in its first batch, so that the index and history are used too.
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
    // A process that is about to be paused must not hold LMDB's lock. After a load the store is
    // idle.
    if (stepped !== undefined) await engine.load(() => {});
    say({ acked: number, last });
    if (stepped !== undefined) await once(process.stdin, "data");
  }
  await engine.close();
  process.stdin.destroy();
} catch (error) {
  say({ fault: error instanceof StoreFault ? error.code : "none", message: (error as Error).message });
  process.exit(4);
}
