// The same forwarding broker on zeromq.js, written as its documentation suggests: a loop over each
// socket.

import { Router } from "zeromq";
import { onOrder, report } from "./child.js";

const clients = new Router();
const workers = new Router();
const empty = Buffer.alloc(0);
const idle: Buffer[] = [];
const jobs: Buffer[][] = [];

await clients.bind("tcp://127.0.0.1:*");
await workers.bind("tcp://127.0.0.1:*");

// zeromq.js allows one send at a time on a socket.
let sending: Promise<void> = Promise.resolve();
function assign(worker: Buffer, job: Buffer[]): Promise<void> {
  sending = sending.then(() => workers.send([worker, ...job]));
  return sending;
}

async function takeJobs(): Promise<void> {
  for await (const [client, ...body] of clients) {
    const job = [empty, client as Buffer, ...body];
    const worker = idle.pop();
    if (worker) await assign(worker, job);
    else jobs.push(job);
  }
}

async function takeAnswers(): Promise<void> {
  for await (const [worker, ...answer] of workers) {
    if (worker === undefined) continue;
    if (answer.length > 2) await clients.send(answer.slice(1));
    const job = jobs.shift();
    if (job) await assign(worker, job);
    else idle.push(worker);
  }
}

let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
report({ front: clients.lastEndpoint, back: workers.lastEndpoint });
await Promise.all([takeJobs(), takeAnswers()]);
