// The same loop on zeromq.js, written as its documentation suggests.

import { Publisher, Pull } from "zeromq";
import { onOrder, report } from "./child.js";

const pull = new Pull();
const pub = new Publisher();
await pull.bind("tcp://127.0.0.1:*");
await pub.bind("tcp://127.0.0.1:*");
let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
report({ front: pull.lastEndpoint, back: pub.lastEndpoint });
for await (const frames of pull) await pub.send(frames);
