import assert from "node:assert/strict";
import { test } from "node:test";
import { sayLoading } from "./loading-lines.js";

test("a start that takes long says how far it is, once a second, and with a total where there is one", (context) => {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const said: string[] = [];
  const lines = sayLoading("./yard-data", (line) => said.push(line));
  lines.take({ type: "opening", storeBytes: 300 * 2 ** 20 });
  context.mock.timers.tick(999);
  assert.deepEqual(said, []);
  context.mock.timers.tick(1);
  lines.take({ type: "opened", tasks: 1_000_000 });
  for (let tasks = 1000; tasks <= 430_000; tasks += 1000)
    lines.take({ type: "loading", tasks, records: tasks });
  context.mock.timers.tick(1000);
  lines.take({ type: "loading", tasks: 1_000_000, records: 1_250_000 });
  context.mock.timers.tick(1000);
  lines.end();
  context.mock.timers.tick(5000);
  assert.deepEqual(said, [
    "opening the store in ./yard-data, 300 MiB",
    "loading: 430,000 of 1,000,000 tasks",
    "loading: all 1,000,000 tasks, 250,000 other records so far",
  ]);
});

test("without a total it says how many there are so far", (context) => {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const said: string[] = [];
  const lines = sayLoading("./yard-data", (line) => said.push(line));
  lines.take({ type: "opened", tasks: undefined });
  lines.take({ type: "loading", tasks: 430_000, records: 430_000 });
  context.mock.timers.tick(1000);
  lines.end();
  assert.deepEqual(said, ["loading: 430,000 tasks so far"]);
});

test("with nothing to load it says nothing, however long it takes", (context) => {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const lines = sayLoading("./yard-data", (line) => assert.fail(line));
  lines.take({ type: "opening", storeBytes: 0 });
  context.mock.timers.tick(5000);
  lines.take({ type: "opened", tasks: 0 });
  context.mock.timers.tick(5000);
  lines.end();
});
