// Bundles: how many rows there are, and the way from a schema without them. That they answer like
// rows is shown by the suites that all engines run.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { TaskId } from "@yardmaster/core";
import { Owner } from "../conformance/owner.js";
import { headOf, put, settledOf } from "../conformance/samples.js";
import { asVersion2 } from "./testing/older-schema.js";
import { TestServer, withoutPostgres } from "./testing/server.js";

const idsTo = (count: number) => Array.from({ length: count }, (_, index) => (index + 1) as TaskId);

describe("bundles of the Postgres engine", { skip: withoutPostgres }, () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start({ fsync: "off" });
  });
  after(() => server.destroy());

  async function rowsOf(schema: string): Promise<{ readonly bundles: number; readonly tasks: number }> {
    const tables = ["bundles", "tasks"].map(
      (table) => `(select count(*) from ${schema}.${table}) as ${table}`,
    );
    const [rows] = await server.sql<{ bundles: number; tasks: number }>(`select ${tables.join(", ")}`);
    return rows ?? { bundles: 0, tasks: 0 };
  }

  test("many tasks share a row, and none is left when all are evicted", async () => {
    const site = await server.site({ isLocal: true });
    const owner = await Owner.take(site);
    const ids = idsTo(2000);
    await owner.commit(...ids.map((id) => put(headOf(id, { queue: `q${id % 3}`, key: `k${id}` }))));
    for (let from = 0; from < ids.length; from += 500) {
      await owner.commit(...ids.slice(from, from + 500).map((id) => put(settledOf(id, id))));
    }
    await owner.engine.whenCaughtUp?.();
    const { bundles, tasks } = await rowsOf(site.schema);
    assert.equal(tasks, 0);
    assert.ok(bundles < ids.length / 10, `${bundles} bundles for ${ids.length} tasks`);
    assert.deepEqual(await owner.ids({ queue: "q1", text: "k1999", limit: 7 }), [1999]);
    const inQueue = ids.filter((id) => id % 3 === 2).reverse();
    assert.deepEqual(await owner.ids({ queue: "q2", state: "done", limit: 7 }), inQueue);
    await owner.commit({ kind: "history-trimmed", through: 6 });
    await owner.engine.whenCaughtUp?.();
    assert.deepEqual(await owner.ids({ limit: 100 }), ids.slice(7 * 256).reverse());
    await owner.commit({ kind: "history-trimmed", through: 7 });
    await owner.engine.whenCaughtUp?.();
    assert.deepEqual(await rowsOf(site.schema), { bundles: 0, tasks: 0 });
    await owner.engine.close();
    await site.destroy();
  });

  test("a trim reads no table from end to end", async () => {
    const site = await server.site({ isLocal: true });
    /** How often tables with tasks were read by an index, and from end to end. */
    const scans = async () => {
      const text = `select sum(idx_scan) as indexed, sum(seq_scan) as whole from pg_stat_user_tables
        where schemaname = '${site.schema}' and relname in ('tasks', 'bundles')`;
      const [row] = await server.sql<{ indexed: string; whole: string }>(text);
      return { indexed: Number(row?.indexed), whole: Number(row?.whole) };
    };
    const first = await Owner.take(site);
    await first.commit(...idsTo(600).flatMap((id) => [put(headOf(id)), put(settledOf(id, id))]));
    await first.commit(put(settledOf(600, 600, { told: false })));
    await first.engine.whenCaughtUp?.();
    await first.engine.close();
    // A session says what it did when it ends.
    while ((await scans()).indexed === 0) await pause(20);
    const before = await scans();
    const second = await Owner.take(site);
    await second.commit({ kind: "history-trimmed", through: 0 });
    await second.commit({ kind: "history-trimmed", through: 1 });
    await second.commit(put(settledOf(600, 600)));
    await second.engine.whenCaughtUp?.();
    await second.engine.close();
    while ((await scans()).indexed === before.indexed) await pause(20);
    assert.equal((await scans()).whole, before.whole);
    await site.destroy();
  });

  test("a schema without them is brought up to date, and its rows are still answered", async () => {
    const site = await server.site({ isLocal: true });
    const before = await Owner.take(site);
    const ids = idsTo(300);
    await before.commit(...ids.map((id) => put(headOf(id))));
    await before.commit(...ids.slice(0, 280).map((id) => put(settledOf(id, id))));
    await before.engine.whenCaughtUp?.();
    const loaded = await before.load();
    await before.engine.close();
    const { schema } = site;
    await asVersion2(server.url, schema);
    const later = await Owner.take(site);
    assert.deepEqual(await later.load(), loaded);
    await later.commit(put(settledOf(281, 281)), put(headOf(301)), put(settledOf(301, 282)));
    await later.commit({ kind: "history-trimmed", through: 0 });
    await later.engine.whenCaughtUp?.();
    const left = [301, ...ids.slice(256).reverse()];
    assert.deepEqual(await later.ids({ limit: 10 }), left);
    assert.deepEqual(await rowsOf(schema), { bundles: 1, tasks: 44 });
    await later.engine.close();
    await site.destroy();
  });
});
