// Raw workers and one raw client of the scaler dialect, the same for every scheduler under test:
// no-op tasks, with or without an object per result. They only handle bytes, so that the scheduler
// has the processor.

import { onOrder, readArgs, report } from "./child.js";
import { openRawPeer } from "./raw-peer.js";
import {
  argumentRequest,
  clientHeartbeat,
  heartbeat,
  messageReader,
  objects,
  objectTaskAt,
  result,
  resultObject,
  resultsDeleted,
  resultTaskAt,
  sharedResult,
  source,
  task,
  taskIdAt,
  taskIdBytes,
} from "./scaler-messages.js";

const {
  address,
  workerCount,
  underWay,
  objects: objectCount,
  hasResults,
  workMs,
} = readArgs<{
  address: string;
  workerCount: number;
  /** Number of tasks in flight. */
  underWay: number;
  /** Number of objects that are only stored. */
  objects: number;
  hasResults: boolean;
  /** How long a worker takes before it answers all its tasks; 0 means at once. */
  workMs: number;
}>();

const T = 0x54;
const K = 0x4b;
const H = 0x48;
const C = 0x43;

let known = 0;
const answer = hasResults ? Buffer.concat([resultObject, result]) : sharedResult;
const answerAt = answer.length - result.length;

/** The answer to the task whose id begins at `from`. */
function putAnswer(answers: Buffer, at: number, bytes: Buffer, from: number): void {
  answer.copy(answers, at);
  bytes.copy(answers, at + answerAt + taskIdAt, from, from + taskIdBytes);
  if (!hasResults) return;
  bytes.copy(answers, at + answerAt + resultTaskAt, from, from + taskIdBytes);
  bytes.copy(answers, at + objectTaskAt, from, from + taskIdBytes);
}

function startWorker(index: number): void {
  // Differs per worker, so that they do not answer all at once.
  const ownMs = workMs * (0.5 + index / workerCount);
  let answers = Buffer.alloc(0);
  let filled = 0;
  const read = messageReader((bytes, at) => {
    if (bytes[at + 2] === T && bytes[at + 3] === K) {
      if (filled + answer.length > answers.length) {
        const grown = Buffer.alloc(Math.max(answers.length * 2, answer.length));
        answers.copy(grown, 0, 0, filled);
        answers = grown;
      }
      putAnswer(answers, filled, bytes, at + taskIdAt);
      filled += answer.length;
    } else if (bytes[at + 2] === H && ++known === workerCount) startClient();
  });
  const peer = openRawPeer({
    endpoint: address,
    socketType: "DEALER",
    identity: Buffer.from(`2|w${index}|00112233445566778899aabbccddeeff`),
    onReady: () => peer.write(heartbeat),
    onBytes: (bytes) => {
      const wasIdle = filled === 0;
      read(bytes);
      if (filled === 0) return;
      if (workMs === 0) flush();
      else if (wasIdle) setTimeout(flush, ownMs);
    },
  });
  const flush = () => {
    peer.write(Buffer.from(answers.subarray(0, filled)));
    filled = 0;
  };
}

// A few at a time, because a listener's backlog is finite.
for (let index = 0; index < workerCount; index++) setTimeout(() => startWorker(index), index / 10);

let done = 0;
let sent = 0;
const deletedAtOnce = 100;
const deleted = Buffer.alloc(deletedAtOnce * taskIdBytes);
let deletedCount = 0;
const finished: number[] = [];
let startedAt = 0;
let isAlone = false;

/** Submits this many tasks in one write. */
function submit(count: number): void {
  const tasks = Buffer.allocUnsafe(count * task.length);
  for (let at = 0; at < tasks.length; at += task.length) {
    task.copy(tasks, at);
    tasks.writeUInt32BE(++sent, at + taskIdAt + taskIdBytes - 4);
  }
  client.write(tasks);
}

function alone(): void {
  startedAt = performance.now();
  submit(1);
}

function deleteResult(bytes: Buffer, from: number): void {
  bytes.copy(deleted, deletedCount * taskIdBytes, from, from + taskIdBytes);
  deletedCount += 1;
  if (deletedCount < deletedAtOnce) return;
  client.write(resultsDeleted(deleted));
  deletedCount = 0;
}

let client: ReturnType<typeof openRawPeer>;

function startClient(): void {
  let ended = 0;
  const read = messageReader((bytes, at) => {
    if (bytes[at + 2] === T) {
      ended += 1;
      if (hasResults) deleteResult(bytes, at + taskIdAt);
    } else if (bytes[at + 2] === C) introduce();
    else report({ ready: true });
  });
  client = openRawPeer({
    endpoint: address,
    socketType: "DEALER",
    identity: source,
    onReady: () => client.write(clientHeartbeat),
    onBytes: (bytes) => {
      read(bytes);
      done += ended;
      if (isAlone && ended > 0) {
        finished.push(performance.now() - startedAt);
        setImmediate(alone);
      } else if (ended > 0) submit(ended);
      ended = 0;
    },
  });
}

function introduce(): void {
  for (const message of objects(objectCount)) client.write(message);
  client.write(argumentRequest);
}

onOrder(({ measureMs, warmUpMs, isAlone: wanted }) => {
  isAlone = wanted === true;
  const first = isAlone ? 1 : underWay;
  if (isAlone) alone();
  else submit(underWay);
  // With very many tasks in flight, the load is warm when as many have returned.
  const startMeasuring = () => {
    if (done < first) setTimeout(startMeasuring, 100);
    else measure(measureMs as number);
  };
  setTimeout(startMeasuring, warmUpMs as number);
});

function measure(measureMs: number): void {
  report({ started: true });
  finished.length = 0;
  const from = { at: performance.now(), done, cpu: process.cpuUsage() };
  setTimeout(() => {
    const tasks = done - from.done;
    const sorted = finished.sort((a, b) => a - b);
    const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? 0;
    const { user, system } = process.cpuUsage(from.cpu);
    report({
      ...{ tasks, cpuMicros: user + system, p50: at(0.5), p99: at(0.99) },
      perSecond: tasks / ((performance.now() - from.at) / 1000),
    });
  }, measureMs);
}
