// The same load for beanstalkd: one producer that keeps jobs in flight, and N connections that
// reserve and delete. Each delete is sent together with the next reserve.

import { connect, type Socket } from "node:net";
import { readArgs, report } from "./child.js";
import { countEnded } from "./measured-load.js";

const { port, workerCount, tasksUnderWay } = readArgs<{
  port: number;
  workerCount: number;
  tasksUnderWay: number;
}>();
const body = "a job of a few dozen bytes, as real ones are";
const put = `put 0 0 600 ${body.length}\r\n${body}\r\n`;
const reserved = /RESERVED (\d+) (\d+)\r\n/;

let done = 0;
const producer = open(() => {});

for (let index = 0; index < workerCount; index++) {
  let text = "";
  const worker = open((chunk) => {
    text += chunk;
    for (let match = reserved.exec(text); match !== null; match = reserved.exec(text)) {
      const end = match.index + match[0].length + Number(match[2]) + 2;
      if (text.length < end) return;
      text = text.slice(end);
      worker.write(`delete ${match[1]}\r\nreserve\r\n`);
      done++;
      producer.write(put);
    }
  });
  worker.write("reserve\r\n");
}

function open(take: (chunk: string) => void): Socket {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => take(chunk));
  socket.on("error", () => {});
  return socket;
}

report({ ready: true });
countEnded(
  () => done,
  () => {
    for (let index = 0; index < tasksUnderWay; index++) producer.write(put);
  },
);
