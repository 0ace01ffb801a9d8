// Engines that wait for their turn: of two claimants one opens, and a database that has gone back
// is not claimed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Change, TaskId } from "@yardmaster/core";
import fc from "fast-check";
import { steps } from "../conformance/change-lists.js";
import { plain } from "../conformance/owner.js";
import { headOf, progressOf, put, settledOf } from "../conformance/samples.js";
import type { LoadItem } from "../engine.js";
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
      // A request may have come just before.
      await assert.rejects(owner.task(1 as TaskId), { name: "Unavailable" });
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

  /** What an engine loads, in a form that can be compared. */
  async function loadedBy(opened: PostgresEngine): Promise<unknown[]> {
    const items: LoadItem[] = [];
    await opened.load((item) => items.push(item));
    return items.map((item) => JSON.stringify(plain(item))).sort();
  }

  /** Waits until a standby has every batch. */
  async function whenMirrored(owner: PostgresEngine): Promise<void> {
    for (;;) {
      const nodes = (await owner.member?.nodes()) ?? [];
      const standby = nodes.find(({ role }) => role === "standby");
      if (standby?.lag === 0) return;
      await pause(50);
    }
  }

  test("a standby loads from memory what the owner committed, and history from the tables", async () => {
    const schema = `standby_${++schemas}`;
    const owner = engine(schema, "first");
    const { epoch } = await owner.open();
    let number = 0;
    const commit = async (...changes: Change[]) =>
      assert.equal((await owner.commit({ epoch, number: ++number, changes })).type, "done");
    for (let id = 1; id <= 300; id++) await commit(put(headOf(id)));
    await owner.whenCaughtUp();
    const standby = engine(schema, "second");
    const state = opening(standby);
    for (let id = 1; id <= 200; id++) await commit(put(settledOf(id, id)));
    await commit(put(progressOf(7, { state: "waiting" })));
    await commit({ kind: "memo", memo: { door: "http", name: "m", bytes: Buffer.alloc(70_000) } });
    await whenMirrored(owner);
    // A load from the tables would not find it.
    await server.sql(`update ${schema}.tasks set settled = 1000 where id = 250`);
    await owner.close();
    await state.done;
    const items: LoadItem[] = [];
    await standby.load((item) => items.push(item));
    const ids = items.flatMap((item) => (item.type === "task" ? [item.task.head.id] : []));
    assert.deepEqual(ids, [7, ...Array.from({ length: 100 }, (_, index) => index + 201)]);
    await standby.close();
  });

  test("a standby under random load has what a start from the tables has", async () => {
    const schema = `standby_${++schemas}`;
    const property = fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 4 }), async (rounds) => {
      let owner = engine(schema, "first");
      await server.sql(`drop schema if exists ${schema} cascade`);
      let { epoch } = await owner.open();
      for (const someSteps of rounds) {
        const standby = engine(schema, "second");
        const state = opening(standby);
        let number = 0;
        for (const { change } of someSteps) {
          assert.equal((await owner.commit({ epoch, number: ++number, changes: [change] })).type, "done");
        }
        await whenMirrored(owner);
        await owner.close();
        await state.done;
        const mirrored = await loadedBy(standby);
        assert.deepEqual(mirrored, await loadedBy(standby));
        owner = standby;
        epoch = state.epoch;
      }
      await owner.close();
    });
    await fc.assert(property, { numRuns: 4 });
  });

  test("a load that takes longer than the silence goes on, and no standby claims", async () => {
    const schema = `standby_${++schemas}`;
    const silenceMs = 2000;
    const owner = engine(schema, "first", silenceMs);
    const { epoch } = await owner.open();
    await owner.commit({ epoch, number: 1, changes: [put(headOf(1))] });
    await owner.whenCaughtUp();
    const { default: pg } = await import("pg");
    const holder = new pg.Client({ connectionString: server.url });
    await holder.connect();
    await holder.query(`begin; lock table ${schema}.tasks`);
    const loading = loadedBy(owner);
    const standby = engine(schema, "second", silenceMs);
    const state = opening(standby);
    await pause(1.5 * silenceMs);
    assert.equal(owner.member?.isOwner, true);
    assert.equal(state.isOpen, false);
    await holder.end();
    assert.equal((await loading).filter((item) => String(item).includes('"task"')).length, 1);
    assert.equal((await owner.commit({ epoch, number: 2, changes: [put(headOf(2))] })).type, "done");
    await owner.close();
    await state.done;
    await standby.close();
  });

  test("a long load from memory leaves time for beats", async () => {
    const schema = `standby_${++schemas}`;
    const owner = engine(schema, "first");
    const { epoch } = await owner.open();
    const standby = engine(schema, "second");
    const state = opening(standby);
    const [perBatch, batches] = [4000, 3];
    for (let number = 1; number <= batches; number++) {
      const ids = Array.from({ length: perBatch }, (_, index) => (number - 1) * perBatch + index + 1);
      await owner.commit({ epoch, number, changes: ids.map((id) => put(headOf(id))) });
    }
    await whenMirrored(owner);
    await owner.close();
    await state.done;
    let loaded = 0;
    let loadedAtFirstTurn = 0;
    await standby.load(({ type }) => {
      if (type !== "task") return;
      if (loaded === 0) setImmediate(() => (loadedAtFirstTurn = loaded));
      loaded += 1;
    });
    assert.equal(loaded, perBatch * batches);
    assert.ok(loadedAtFirstTurn < loaded, `${loadedAtFirstTurn} tasks without a turn of the event loop`);
    await standby.close();
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
