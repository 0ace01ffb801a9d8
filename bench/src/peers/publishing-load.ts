// One PUSH and many SUBs that receive everything, and optionally many more that receive nothing. A
// fixed number of messages is in flight, and the next is pushed when one has arrived.

import { monique } from "@yardmaster/dialects";
import { onOrder, readArgs, report } from "./child.js";
import { onWire, openRawPeer } from "./raw-peer.js";

const { front, back, subscribers, strangers } = readArgs<{
  front: string;
  back: string;
  subscribers: number;
  strangers: number;
}>();
// Below libzmq's high-water mark, beyond which a subscriber misses messages.
const underWay = 500;

const message = onWire(
  monique.writeMessage(
    {
      ...{ type: "data", spec: "bench_radio", id: "x".repeat(40), pid: "", creator: "bench" },
      ...{ createdAt: 1_700_000_000_000, expiresAt: 0, encoding: "JSON" },
      data: Buffer.from('{"text":"some data, as much as real components send"}'),
    },
    "d3",
  ),
);
const batch = Buffer.concat(Array.from({ length: underWay }, () => message));

let ready = 0;
const onReady = () => {
  ready += 1;
  // Subscriptions arrive after the handshake.
  if (ready === subscribers + strangers + 1) setTimeout(() => report({ ready: true }), 200);
};
let bytes = 0;
let isStarted = false;
let owed = 0;
/** As many messages are pushed as the slowest subscriber has received. */
const heard = Array.from({ length: subscribers }, () => 0);

const push = openRawPeer({ endpoint: front, socketType: "PUSH", onReady });
for (let index = 0; index < subscribers; index += 1) {
  openRawPeer({
    ...{ endpoint: back, socketType: "SUB", prefix: "data:bench_radio:", onReady },
    onBytes: (chunk) => {
      heard[index] = (heard[index] ?? 0) + chunk.length;
      if (index === 0) bytes += chunk.length;
      const slowest = Math.floor(Math.min(...heard) / message.length);
      if (slowest === owed) return;
      push.write(batch.subarray(0, (slowest - owed) * message.length));
      owed = slowest;
    },
  });
}
for (let index = 0; index < strangers; index += 1) {
  openRawPeer({ endpoint: back, socketType: "SUB", prefix: `data:bench_other${index}:`, onReady });
}

onOrder(({ measureMs, warmUpMs }) => {
  if (!isStarted) push.write(batch);
  isStarted = true;
  setTimeout(() => {
    report({ started: true });
    const from = { at: performance.now(), bytes };
    setTimeout(() => {
      const tasks = (bytes - from.bytes) / message.length;
      report({ tasks, perSecond: tasks / ((performance.now() - from.at) / 1000) });
    }, measureMs as number);
  }, warmUpMs as number);
});
