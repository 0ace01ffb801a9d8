// Many DEALERs that connect and then send only what the protocol requires.

import { Dealer } from "@yardmaster/zmtp";
import { readArgs, report } from "./child.js";

const { endpoint, count } = readArgs<{ endpoint: string; count: number }>();
// A hundred handshakes at a time, so that the listener's backlog is not measured.
const atOnce = 100;
let started = 0;
let ready = 0;

function startOne(): void {
  if (started >= count) return;
  const identity = `idle-${started++}`;
  let isFirst = true;
  new Dealer({
    identity,
    // The other end checks these connections; ten thousand timers here would only slow it down.
    heartbeat: { intervalMs: 0 },
    onPeer: () => {
      if (!isFirst) return;
      isFirst = false;
      if (++ready === count) report({ ready: true });
      startOne();
    },
  }).connect(endpoint);
}
for (let index = 0; index < atOnce; index++) startOne();
