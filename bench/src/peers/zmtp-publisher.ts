// Forwards everything from a PULL to a PUB, on our sockets.

import { Pub, Pull } from "@yardmaster/zmtp";
import { onOrder, report } from "./child.js";

const pub = new Pub();
const pull = new Pull({ onMessage: (_peer, frames) => void pub.send(frames) });
const front = await pull.bind("tcp://127.0.0.1:0");
const back = await pub.bind("tcp://127.0.0.1:0");
let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
report({ front: front.endpoint, back: back.endpoint });
