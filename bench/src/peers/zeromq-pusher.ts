// zeromq.js's PUSH, sending messages of one size as fast as they are taken.

import { Push } from "zeromq";
import { onOrder, readArgs, report } from "./child.js";

const { bytes } = readArgs<{ bytes: number }>();
const message = Buffer.alloc(bytes, 0x61);
const push = new Push();
await push.bind("tcp://127.0.0.1:*");
push.events.on("handshake", () => report({ connected: true }));
onOrder(async () => {
  for (;;) await push.send(message);
});
report({ endpoint: push.lastEndpoint });
