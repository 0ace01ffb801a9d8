// Our ROUTER without traffic: reports its memory on request.

import { Router } from "@yardmaster/zmtp";
import { onOrder, report } from "./child.js";

let peers = 0;
const router = new Router({ onPeer: () => peers++, onPeerGone: () => peers-- });
const { endpoint } = await router.bind("tcp://127.0.0.1:0");
onOrder(() => {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  report({ peers, rss, heapUsed, external, cpu: process.cpuUsage() });
});
report({ endpoint });
