// Who has to make room for a message while the room for unfinished messages is short.

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultLimits } from "../limits.js";
import { Assembly, type Holder } from "./assembly.js";
import { Totals } from "./send-queue.js";

const KiB = 1024;

function openRoom() {
  const assembly = new Assembly(1024 * KiB);
  const owner = { totals: new Totals(), limits: { ...defaultLimits, assemblyBytesMax: 1024 * KiB } };
  const gone: string[] = [];
  /** A peer that has just sent everything that it holds, so it has not stalled. */
  const peer = (name: string, host: string) => {
    const holder = {
      ...{ host, owner, isRead: true as boolean, heldBytes: 0, recentBytes: 0 },
      fail() {
        gone.push(name);
        assembly.forget(holder);
      },
    } satisfies Holder;
    const send = (bytes: number) => {
      const before = holder.heldBytes;
      holder.heldBytes += bytes;
      holder.recentBytes += bytes;
      return assembly.change(holder, before);
    };
    return { holder, send };
  };
  return { assembly, gone, peer };
}

test("the host that holds the most makes room: its largest message first", () => {
  const { assembly, gone, peer } = openRoom();
  for (const [name, size] of Object.entries({ small: 100, large: 400, middle: 300 }))
    assert.ok(peer(name, "greedy").send(size * KiB));
  const modest = peer("modest", "other");
  assert.ok(modest.send(90 * KiB));
  assert.ok(modest.send(200 * KiB), "there is room once the largest message is gone");
  assert.deepEqual(gone, ["large"]);
  assert.equal(assembly.heldBytes, 690 * KiB);
});

test("a peer of the host that holds the most does not push others out", () => {
  const { gone, peer } = openRoom();
  assert.ok(peer("modest", "other").send(300 * KiB));
  assert.ok(peer("first", "greedy").send(400 * KiB));
  assert.equal(peer("second", "greedy").send(300 * KiB), false);
  assert.deepEqual(gone, []);
});

test("a message that we do not read on is not cut off", () => {
  const { gone, peer } = openRoom();
  const held = peer("held", "greedy");
  assert.ok(held.send(700 * KiB));
  held.holder.isRead = false;
  assert.equal(peer("modest", "other").send(300 * KiB), false);
  assert.deepEqual(gone, []);
});

test("while memory is short, large messages get no more of it, and small ones pass", () => {
  const { assembly, gone, peer } = openRoom();
  const large = peer("large", "one");
  assert.ok(large.send(200 * KiB));
  assembly.limitGrowth(100 * KiB);
  assert.ok(large.send(100 * KiB));
  assert.equal(large.send(1), false);
  assembly.forget(large.holder);
  assembly.limitGrowth(0);
  assert.ok(peer("small", "two").send(60 * KiB));
  assert.equal(peer("next", "two").send(65 * KiB), false);
  assert.deepEqual(gone, []);
});
