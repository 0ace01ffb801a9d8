import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultCoreOptions } from "@yardmaster/core";
import { MemoryEngine } from "@yardmaster/engines";
import type { Clock } from "./clock.js";
import { Runtime } from "./runtime.js";

test("a door that only asks for the time does not stop it", async () => {
  let ms = 1_000;
  const turns: (() => void)[] = [];
  const clock: Clock = {
    instant: () => ms,
    wall: () => ms,
    defer: (work) => turns.push(work),
    setTimer: () => () => {},
  };
  const fail = (fault: Error) => assert.fail(fault);
  const core = { ...defaultCoreOptions, random: () => 0 };
  const runtime = new Runtime({ engine: new MemoryEngine(), clock, core, onFatal: fail });
  await runtime.start();
  const endTurn = () => {
    for (const work of turns.splice(0)) work();
  };
  endTurn();
  const port = runtime.port("test");
  assert.equal(port.now().wall, 1_000);
  ms = 5_000;
  assert.equal(port.now().wall, 1_000, "one reading for all of a turn");
  endTurn();
  assert.equal(port.now().wall, 5_000);
  runtime.kill();
});
