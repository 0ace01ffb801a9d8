// Engines that wait for their turn: of two claimants one opens, and a database that has gone back
// is not claimed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { headOf, put } from "../conformance/samples.js";
import { PostgresEngine } from "./postgres-engine.js";
import { TestServer, withoutPostgres } from "./testing/server.js";

describe("postgres standbys", { skip: withoutPostgres }, () => {
  let server: TestServer;
  let schemas = 0;
  before(async () => {
    server = await TestServer.start({ fsync: "off" });
  });
  after(() => server.destroy());

  /** The silence is longer than any pause on a busy machine. */
  const engine = (schema: string, node: string, silenceMs = 10_000) =>
    new PostgresEngine({
      url: server.url,
      schema,
      requireSync: false,
      commitMs: 10_000,
      cluster: { node, beatMs: 50, silenceMs },
    });

  /** Waits in the background; tells whether it has opened. */
  function opening(standby: PostgresEngine) {
    const state = { isOpen: false, epoch: 0, done: Promise.resolve() };
    state.done = standby.open().then(
      ({ epoch }) => {
        state.isOpen = true;
        state.epoch = epoch;
      },
      () => {},
    );
    return state;
  }

  test("of standbys that see the owner step down at the same moment, one opens", async () => {
    const schema = `standby_${++schemas}`;
    let owner = engine(schema, "first");
    await owner.open();
    for (let round = 0; round < 5; round++) {
      const pair = ["a", "b"].map((name) => engine(schema, name));
      const states = pair.map(opening);
      await pause(100);
      assert.deepEqual(
        states.map(({ isOpen }) => isOpen),
        [false, false],
      );
      await owner.close();
      await Promise.race(states.map(({ done }) => done));
      await pause(300);
      const opened = states.findIndex(({ isOpen }) => isOpen);
      assert.equal(states.filter(({ isOpen }) => isOpen).length, 1);
      const [next, other] = opened === 0 ? pair : [...pair].reverse();
      assert.equal(next?.member?.takeOver, "stepped-down");
      const batch = { epoch: states[opened]?.epoch ?? 0, number: 1, changes: [put(headOf(round + 1))] };
      assert.equal((await next?.commit(batch))?.type, "done");
      await other?.close();
      owner = next as PostgresEngine;
    }
    assert.equal((await owner.find({ limit: 100 })).items.length, 5);
    await owner.close();
  });

  test("an owner that only beats keeps the database, and one that ends without a word loses it", async () => {
    const schema = `standby_${++schemas}`;
    const owner = engine(schema, "first", 2000);
    await owner.open();
    const standby = engine(schema, "second", 2000);
    const state = opening(standby);
    await pause(3000);
    assert.equal(state.isOpen, false);
    assert.equal(owner.member?.isOwner, true);
    owner.member?.end();
    await state.done;
    assert.equal(standby.member?.takeOver, "silent");
    await standby.close();
    await owner.close();
  });

  test("a standby claims nothing from a database that lost what was acknowledged", async () => {
    const schema = `standby_${++schemas}`;
    const owner = engine(schema, "first");
    const { epoch } = await owner.open();
    const standby = engine(schema, "second");
    const state = opening(standby);
    for (const number of [1, 2, 3]) await owner.commit({ epoch, number, changes: [put(headOf(number))] });
    await pause(500);
    await owner.close();
    await state.done;
    assert.equal(standby.member?.takeOver, "stepped-down");
    const third = engine(schema, "third");
    const waits = opening(third);
    await pause(500);
    await server.sql(`update ${schema}.owner set position = 1, instance = ''`);
    while (third.member?.isHalted !== true) await pause(20);
    await pause(300);
    assert.equal(waits.isOpen, false);
    await third.close();
    await standby.close();
  });
});
