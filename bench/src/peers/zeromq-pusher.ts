// zeromq.js's PUSH, sending messages of one size as fast as they are accepted.

import { Push } from "zeromq";
import { onOrder, readArgs, report } from "./child.js";
import { type CurveArgs, libzmqServer } from "./curve-args.js";

const { bytes, curve } = readArgs<{ bytes: number; curve?: CurveArgs }>();
const message = Buffer.alloc(bytes, 0x61);
const push = new Push(libzmqServer(curve));
await push.bind("tcp://127.0.0.1:*");
push.events.on("handshake", () => report({ connected: true }));
onOrder(async () => {
  for (;;) await push.send(message);
});
report({ endpoint: push.lastEndpoint });
