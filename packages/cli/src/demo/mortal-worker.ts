// The worker of the demo that dies on purpose: a process that kills itself in the middle of every
// third task. The address is its only argument.

import { setTimeout as sleep } from "node:timers/promises";
import { work } from "@yardmaster/sdk";

const [, , url = ""] = process.argv;
const tasksOfALife = 3;
let tasks = 0;

await work(url, { name: "gpu-13", onError: () => {} }, async () => {
  tasks += 1;
  await sleep(700);
  if (tasks === tasksOfALife) process.kill(process.pid, "SIGKILL");
  await sleep(700);
  return { by: "the worker that dies" };
});

// Without the demo there is nothing to work for.
setInterval(() => {
  if (process.ppid === 1) process.exit(0);
}, 1_000);
