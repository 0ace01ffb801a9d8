// One client with many tasks in flight and N calculators, each with its own socket. They parse no
// JSON: their answers are cut from what they receive, so the load leaves the processor to the
// dispatcher under test.

import { createSocket, type Socket } from "node:dgram";
import { readArgs, report } from "./child.js";
import { type Load, measure } from "./measured-load.js";

const { port, workerCount, tasksUnderWay } = readArgs<{
  port: number;
  workerCount: number;
  tasksUnderWay: number;
}>();
const host = "127.0.0.1";

const load: Load = { done: 0, underWay: 0, isOpen: false };
const pending = new Set<number>();
const idKey = '"task_id":';
let lastTask = 0;
let transmission = 0;

function open(onDatagram: (text: string, socket: Socket) => void, onReady: (socket: Socket) => void): Socket {
  const socket = createSocket({
    type: "udp4",
    lookup: (peer, _options, take) => take(null, peer, 4),
  });
  socket.on("message", (bytes) => onDatagram(bytes.toString("latin1"), socket));
  socket.bind(0, host, () => onReady(socket));
  return socket;
}

function send(socket: Socket, text: string): void {
  socket.send(Buffer.from(text, "latin1"), port, host);
}

function ackOf(text: string): string {
  return text.replace('"packet_type":1', '"packet_type":2');
}

function calculate(text: string, socket: Socket): void {
  // The ack of its answer: the answer already showed that it is free.
  if (!text.startsWith('{"method":"perform_task"')) return;
  send(socket, ackOf(text));
  const ids = text.slice(text.indexOf('"task_id"'), text.indexOf("}"));
  const answer = `{"method":"completed_task","params":{${ids},"result":1},"packet_type":1,"transmission_id":${++transmission}}`;
  send(socket, answer);
}

const calculators: Socket[] = [];

function beat(socket: Socket): void {
  send(socket, '{"method":"heartbeat","params":{"status":"ready"},"packet_type":0}');
}

// Each sends a heartbeat every second; ten thousand, like real ones, every half minute. A
// calculator that was too slow once gets nothing before that.
let next = 0;
setInterval(
  () => {
    const socket = calculators[next++ % calculators.length];
    if (socket !== undefined) beat(socket);
  },
  Math.max(3, 1_000 / workerCount),
);

let ready = 0;
function addCalculator(): void {
  open(calculate, (socket) => {
    calculators.push(socket);
    beat(socket);
    // One after the other: a burst of ten thousand would be lost, and a lost heartbeat is not
    // repeated.
    if (++ready < workerCount) setImmediate(addCalculator);
    else setTimeout(() => report({ ready: true }), 200);
  });
}

const client = open(
  (text, socket) => {
    if (!text.startsWith('{"method":"notify_task"')) return;
    send(socket, ackOf(text));
    // An outcome that arrives twice counts once.
    if (!pending.delete(parseInt(text.slice(text.indexOf(idKey) + idKey.length), 10))) return;
    load.done += 1;
    load.underWay = pending.size;
    if (load.isOpen) addTask();
  },
  (socket) => {
    makeRoom(socket);
    addCalculator();
  },
);

/**
 * A dispatcher answers many tasks in a turn, all to this socket. Datagrams lost here would be the
 * load's fault.
 */
function makeRoom(socket: Socket): void {
  try {
    socket.setRecvBufferSize(4 * 1024 * 1024);
  } catch {
    // The system's own limit applies.
  }
}

function addTask(): void {
  lastTask += 1;
  pending.add(lastTask);
  load.underWay = pending.size;
  const params = `{"task_id":${lastTask},"work":"a task of a few dozen bytes, as real ones are"}`;
  send(
    client,
    `{"method":"add_task","params":${params},"packet_type":1,"transmission_id":${++transmission}}`,
  );
}

measure(load, () => {
  for (let count = 0; count < tasksUnderWay; count += 1) addTask();
});
