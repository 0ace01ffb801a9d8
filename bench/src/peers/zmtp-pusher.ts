// Our PUSH, sending messages of one size as fast as they are accepted.

import { Push } from "@yardmaster/zmtp";
import { onOrder, readArgs, report } from "./child.js";
import { type CurveArgs, ourServer } from "./curve-args.js";

const { bytes, curve } = readArgs<{ bytes: number; curve?: CurveArgs }>();
const message = [Buffer.alloc(bytes, 0x61)];
const push: Push = new Push({
  ...ourServer(curve),
  onPeer: () => report({ connected: true }),
  onRoom: fill,
});

function fill(): void {
  for (let outcome = push.send(message); outcome === "sent" || outcome === "queued"; )
    outcome = push.send(message);
}

const { endpoint } = await push.bind("tcp://127.0.0.1:0");
onOrder(fill);
report({ endpoint });
