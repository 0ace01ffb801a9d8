import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultCoreOptions, type Effect } from "@yardmaster/core";
import { MemoryEngine, MemoryStore } from "@yardmaster/engines";
import { realClock } from "./clock.js";
import type { Door } from "./door-kit/door.js";
import { Runtime } from "./runtime.js";

/** Starts a dispatcher with one door on this store. */
async function live(store: MemoryStore) {
  const runtime = new Runtime({
    engine: new MemoryEngine(store),
    clock: realClock,
    core: { ...defaultCoreOptions, random: () => 0 },
    onFatal: (fault) => assert.fail(fault),
  });
  let onReply = (_: Effect) => {};
  const door: Door = {
    name: "test",
    open: async () => ({}),
    deliver: (effects) => {
      for (const effect of effects) onReply(effect);
    },
    handleTimeout: () => {},
    nextDeadline: () => undefined,
    stopAccepting: () => {},
    close: async () => {},
  };
  runtime.attach(door);
  await runtime.start();
  const port = runtime.port("test");
  const memos = port.takeMemos();
  await runtime.openDoors();
  const write = (name: string, bytes: Uint8Array) =>
    new Promise<Effect>((resolve) => {
      onReply = resolve;
      port.post({ type: "memo-written", request: 1, name, bytes });
    });
  return { runtime, port, memos, write };
}

test("a door finds its memos again in the next life, as they were last", async () => {
  const store = new MemoryStore();
  const first = await live(store);
  assert.equal(first.memos.size, 0);
  await first.write("a", Uint8Array.of(1));
  await first.write("b", Uint8Array.of(2));
  first.port.post({ type: "memo-dropped", name: "b" });
  const reply = await first.write("a", Uint8Array.of(3));
  assert.deepEqual(reply, { type: "reply", door: "test", request: 1, answer: { type: "granted" } });
  first.runtime.kill();
  const second = await live(store);
  assert.deepEqual([...second.memos], [["a", Uint8Array.of(3)]]);
  assert.equal(second.port.takeMemos().size, 0, "they are handed over once");
  second.runtime.kill();
});

test("a memo whose name does not fit an engine's key is refused", async () => {
  const { runtime, write } = await live(new MemoryStore());
  for (const name of ["", "x".repeat(200)]) {
    const reply = await write(name, Uint8Array.of());
    assert.ok(reply.type === "reply" && reply.answer.type === "refused");
    assert.equal(reply.answer.code, "bad_request");
  }
  assert.equal(runtime.counters.senseless.of("test", "memo-written"), 2);
  runtime.kill();
});
