// A client of the SDK over http: submits tasks with several in flight, or runs one at a time and
// records how long each takes.

import { connect } from "@yardmaster/sdk";
import { cpuMicros, onOrder, readArgs, report } from "./child.js";
import { alone, inTurn } from "./submitting.js";

const { address } = readArgs<{ address: string }>();
const client = await connect(`http://${address}`);
const payload = "a job of a few dozen bytes, as real ones are";
const queue = { queue: "bench" };
onOrder(async ({ tasks, underWay, calls }) => {
  if (calls !== undefined) report({ ms: await alone(calls as number, () => client.call(payload, queue)) });
  else {
    await inTurn(tasks as number, underWay as number, () => client.submit(payload, queue));
    report({ cpuMicros: cpuMicros() });
  }
});
report({ ready: true });
