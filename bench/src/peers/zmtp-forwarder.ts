// A forwarding broker on our sockets: jobs go from clients to idle workers, answers go back, and
// nothing else happens.

import { type Peer, Router } from "@yardmaster/zmtp";
import { onOrder, report } from "./child.js";

const idle: Peer[] = [];
const jobs: Buffer[][] = [];

// The load-balancing broker of the ZeroMQ guide. A client sends ["", job]; a worker receives ["",
// client, "", job] and returns the same with its answer, after a first ["", "READY"].
const empty = Buffer.alloc(0);
const clients: Router = new Router({
  onMessage(peer, frames) {
    const job = [empty, peer.identity, ...frames];
    const worker = idle.pop();
    if (worker) workers.sendTo(worker, job);
    else jobs.push(job);
  },
});
const workers: Router = new Router({
  onMessage(peer, frames) {
    if (frames.length > 2) clients.sendToIdentity(frames[1] as Buffer, frames.slice(2));
    const job = jobs.shift();
    if (job) workers.sendTo(peer, job);
    else idle.push(peer);
  },
});

const front = await clients.bind("tcp://127.0.0.1:0");
const back = await workers.bind("tcp://127.0.0.1:0");
let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
report({ front: front.endpoint, back: back.endpoint });
