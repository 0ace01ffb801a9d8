// A bare controller that makes the same connections: a task goes to the worker that was idle for
// longest, FETCH_ME is answered and fetched, and nothing is stored.

import { mkdtempSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pulse } from "@yardmaster/dialects";
import { reportCpu } from "./broker-report.js";
import { readArgs, report } from "./child.js";

const { tasksUnderWay } = readArgs<{ tasksUnderWay: number }>();
const dir = mkdtempSync(join(tmpdir(), "yard-bench-"));
const numbering = "document";
const payload = Buffer.from("a task of a few dozen bytes, as real ones are");
const empty = Buffer.alloc(0);

const idle: bigint[] = [];
let lastWorker = 0n;
let lastTask = 0n;
let underWay = 0;

const server = createServer((socket) => {
  socket.once("data", (bytes) => {
    const reading = pulse.readPulse(bytes.subarray(pulse.prefixBytes), () => numbering);
    if (!reading.ok) throw new Error(reading.fault);
    const { type, workerId } = reading.message;
    const id = type === "REGISTER" ? { workerId: ++lastWorker } : {};
    socket.end(pulse.writePulseResponse({ error: "OK", ...id }, numbering), () => socket.destroy());
    if (type === "OK") free(workerId);
    else if (type === "FETCH_ME")
      control(workerId, "FETCH", empty, () => {
        underWay -= 1;
        free(workerId);
      });
  });
});

function free(worker: bigint): void {
  idle.push(worker);
  while (idle.length > 0 && underWay < tasksUnderWay) {
    underWay += 1;
    control(idle.shift() as bigint, "SET_TASK", payload, () => {});
  }
}

function control(worker: bigint, type: pulse.ControlWord, extra: Buffer, onAnswer: () => void): void {
  const socket = createConnection(join(dir, `${worker}.sock`));
  const taskId = type === "SET_TASK" ? { taskId: ++lastTask } : {};
  socket.write(
    Buffer.concat([
      pulse.writeControl({ type, extraSize: BigInt(extra.length), ...taskId }, numbering),
      extra,
    ]),
  );
  socket.once("data", () => {
    socket.destroy();
    onAnswer();
  });
}

server.listen({ path: join(dir, "main.sock"), backlog: 4096 }, () => {
  reportCpu();
  report({ dir });
});
