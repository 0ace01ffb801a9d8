// N pulse workers that solve a task at once: they answer SET_TASK, send FETCH_ME and answer FETCH.
// All their messages are prepared in advance.

import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { pulse } from "@yardmaster/dialects";
import { onOrder, readArgs, report } from "./child.js";

const { dir, workerCount } = readArgs<{ dir: string; workerCount: number }>();
const numbering = "document";
const solution = Buffer.from("a solution of a few dozen bytes, as real ones are");

let done = 0;

function pulseOf(
  type: pulse.PulseWord,
  workerId: bigint,
  taskId: bigint,
  onAnswer: (id: bigint) => void,
): void {
  const socket = createConnection(join(dir, "main.sock"));
  socket.write(pulse.writePulse({ type, workerId, taskId, nextPulse: 3600n }, numbering));
  socket.once("data", (answer) => {
    const reading = pulse.readPulseResponse(answer.subarray(pulse.prefixBytes), numbering);
    socket.destroy();
    if (!reading.ok || reading.message.error !== "OK") throw new Error(`${type} was not answered OK`);
    onAnswer(reading.message.workerId ?? 0n);
  });
}

function serve(id: bigint, onReady: () => void): void {
  let task = 0n;
  const server = createServer((socket) => socket.once("data", (asked) => answer(socket, asked)));
  const answer = (socket: Socket, asked: Buffer) => {
    // Messages of this size arrive in one piece.
    const length = asked.readUInt32LE(0);
    const reading = pulse.readControl(
      asked.subarray(pulse.prefixBytes, pulse.prefixBytes + length),
      numbering,
    );
    const isTask = reading.ok && reading.message.type === "SET_TASK";
    if (isTask) task = reading.message.taskId ?? 0n;
    const extra = isTask ? Buffer.alloc(0) : solution;
    const response = { error: "OK", taskId: task, extraSize: BigInt(extra.length) } as const;
    socket.end(Buffer.concat([pulse.writeWorkerResponse(response, numbering), extra]));
    if (isTask) pulseOf("FETCH_ME", id, task, () => {});
    else done += 1;
  };
  server.listen(join(dir, `${id}.sock`), onReady);
}

let ready = 0;
function addWorker(): void {
  pulseOf("REGISTER", 0n, 0n, (id) =>
    serve(id, () =>
      pulseOf("OK", id, 0n, () => {
        if (++ready < workerCount) addWorker();
        else report({ ready: true });
      }),
    ),
  );
}
addWorker();

onOrder(({ warmUpMs, measureMs }) => {
  setTimeout(() => {
    report({ started: true });
    const from = { at: performance.now(), done };
    setTimeout(() => {
      const tasks = done - from.done;
      report({ tasks, perSecond: tasks / ((performance.now() - from.at) / 1000), lost: 0 });
    }, measureMs as number);
  }, warmUpMs as number);
});
