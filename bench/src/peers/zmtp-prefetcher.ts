// A bare loop on the same socket: tasks go to workers in turn, and results and object messages go
// back. It stores only which peer is which. This is the cost of a scheduler that promises nothing.

import { type Peer, Router } from "@yardmaster/zmtp";
import { onOrder, report } from "./child.js";

const echo = [Buffer.from("HE"), Buffer.alloc(0)];
const clientEcho = [Buffer.from("CE"), Buffer.alloc(0)];
const objectAnswer = [Buffer.from("OA"), Buffer.alloc(0)];
const workers: Peer[] = [];
let client: Peer | undefined;
let turn = 0;
const router: Router = new Router({
  limits: { messageFramesMax: 100_000, peersMax: 20_000 },
  onMessage: (peer, frames) => {
    switch (String(frames[0])) {
      case "TK":
        turn = (turn + 1) % workers.length;
        router.sendTo(workers[turn] as Peer, frames);
        return;
      case "TR":
        if (client !== undefined) router.sendTo(client, frames);
        return;
      case "HB":
        workers.push(peer);
        router.sendTo(peer, echo);
        return;
      case "CB":
        client = peer;
        router.sendTo(peer, clientEcho);
        return;
      case "OR":
        router.sendTo(peer, objectAnswer);
        return;
      default:
    }
  },
});
const { endpoint } = await router.bind("tcp://127.0.0.1:0");
let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
report({ address: endpoint });
