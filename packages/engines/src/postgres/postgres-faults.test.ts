// What goes wrong between an engine and its servers. Batches that were acknowledged are there after
// each fault, and what was not acknowledged is never called done.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Change, TaskId } from "@yardmaster/core";
import { headOf, put } from "../conformance/samples.js";
import { StoreFault } from "../embedded/store-faults.js";
import type { CommitOutcome } from "../engine.js";
import { claim, endSessions, type OwnerRow, readOwner } from "./log-table.js";
import { PostgresEngine, type PostgresEngineOptions } from "./postgres-engine.js";
import { faultOf, Session, serversIn, Unavailable } from "./session.js";
import { account, TestServer, withoutPostgres } from "./testing/server.js";

/** An owner that commits one task a batch, and repeats a batch until there is a definite answer. */
class Owner {
  readonly engine: PostgresEngine;
  readonly acknowledged: number[] = [];
  readonly seen: string[] = [];
  #epoch = 0;
  #batch = 0;

  constructor(options: PostgresEngineOptions) {
    this.engine = new PostgresEngine(options);
  }

  async open(): Promise<this> {
    this.#epoch = (await this.engine.open()).epoch;
    return this;
  }

  /** Tries once. */
  offer(task: number, changes: readonly Change[] = [put(headOf(task))]): Promise<CommitOutcome> {
    return this.engine.commit({ epoch: this.#epoch, number: this.#batch + 1, changes });
  }

  /** Tries until there is a definite answer. */
  async commit(task: number): Promise<CommitOutcome["type"]> {
    for (;;) {
      const { type } = await this.offer(task);
      this.seen.push(type);
      if (type === "unknown" || type === "unavailable") {
        await pause(50);
        continue;
      }
      if (type !== "done") return type;
      this.#batch += 1;
      this.acknowledged.push(task);
      return type;
    }
  }
}

async function idsIn(engine: PostgresEngine): Promise<number[]> {
  const { items } = await engine.find({ limit: 10_000 });
  return items.map(({ head }) => head.id).reverse();
}

test("an address may name several servers", () => {
  assert.deepEqual(serversIn("postgres://me:x@one:1,two/yard?a=b"), [
    "postgres://me:x@one:1/yard?a=b",
    "postgres://me:x@two/yard?a=b",
  ]);
  for (const start of ["postgres:///yard", "postgres://me@/yard"]) {
    assert.deepEqual(serversIn(`${start}?host=/one,/two&a=b`), [
      `${start}?host=/one&a=b`,
      `${start}?host=/two&a=b`,
    ]);
  }
});

test("a broken connection is no answer of the server, whatever its code looks like", () => {
  const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" });
  assert.ok(faultOf(broken) instanceof Unavailable);
  assert.ok(!(faultOf(Object.assign(new Error("syntax"), { code: "42601" })) instanceof Unavailable));
});

describe("postgres engine and one server", { skip: withoutPostgres }, () => {
  let server: TestServer;
  let schemas = 0;
  before(async () => {
    server = await TestServer.start({ fsync: "off" });
  });
  after(() => server.destroy());

  const nextSchema = () => `own_${++schemas}`;
  const options = (schema = nextSchema()) => ({
    url: server.url,
    schema,
    requireSync: false,
    commitMs: 10_000,
  });

  test("a server that does not replicate is refused, with advice", async () => {
    const engine = new PostgresEngine({ ...options(), requireSync: true });
    await assert.rejects(engine.open(), /synchronous_standby_names is "".*set postgres.requireSync to false/);
  });

  test("a schema of a newer version is refused, and left as it is", async () => {
    const schema = nextSchema();
    await (await new Owner(options(schema)).open()).engine.close();
    await server.sql(`update ${schema}.owner set version = 99`);
    await assert.rejects(
      new PostgresEngine(options(schema)).open(),
      /has version 99.*use the newer yardmaster/,
    );
    assert.deepEqual(await server.sql(`select version, epoch from ${schema}.owner`), [
      { version: 99, epoch: 1 },
    ]);
  });

  test("connections that are ended are made again, and nothing is done twice", async () => {
    const owner = await new Owner(options()).open();
    for (const task of [1, 2, 3]) {
      assert.equal(await owner.commit(task), "done");
      await server.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'yardmaster/%'",
      );
    }
    assert.deepEqual(await idsIn(owner.engine), [1, 2, 3]);
    await owner.engine.close();
  });

  test("a database that has gone back is not used any more", async () => {
    const schema = nextSchema();
    const owner = await new Owner(options(schema)).open();
    for (const task of [1, 2]) await owner.commit(task);
    await server.sql(`update ${schema}.owner set position = position - 1`);
    assert.equal(await owner.commit(3), "regressed");
    await server.sql(`update ${schema}.owner set epoch = 0`);
    assert.equal(await owner.commit(3), "regressed");
    await owner.engine.close();
  });

  test("a server that takes no writes is unavailable, and is waited for", async () => {
    const owner = await new Owner(options()).open();
    await owner.commit(1);
    await server.sql("alter database postgres set default_transaction_read_only = on");
    await server.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'yardmaster/%'",
    );
    assert.match((await owner.offer(2)).type, /^(unknown|unavailable)$/);
    await server.sql("begin read write; alter database postgres reset default_transaction_read_only; commit");
    assert.equal(await owner.commit(2), "done");
    await owner.engine.close();
  });

  test("a full disk is reported as full, and acknowledged batches are there when it has room", {
    skip: process.getuid?.() === 0 ? false : "only root may mount a small disk",
  }, async (context) => {
    const disk = mkdtempSync(join(tmpdir(), "yard-pg-full-"));
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=40m", "tmpfs", disk]).status !== 0) {
      rmSync(disk, { recursive: true });
      return context.skip("no small disk could be mounted here");
    }
    const tables = join(disk, "tables");
    mkdirSync(tables);
    if (account !== undefined) chownSync(tables, account.uid, account.gid);
    const url = server.url.replace("/postgres?", "/small?");
    try {
      await server.sql(`create tablespace small location '${tables}'`);
      await server.sql("create database small tablespace small");
      const schema = nextSchema();
      const owner = await new Owner({ ...options(schema), url }).open();
      await owner.commit(1);
      const filler = join(disk, "filler");
      assert.throws(() => writeFileSync(filler, Buffer.alloc(40 * 2 ** 20)), { code: "ENOSPC" });
      let last: CommitOutcome["type"] = "done";
      for (let task = 2; last === "done"; task++) last = await owner.commit(task);
      assert.equal(last, "full");
      // The dispatcher ends now. A start that has to make tables is refused with the same reason.
      await owner.engine.close();
      await assert.rejects(new Owner({ ...options(), url }).open(), {
        name: "StoreFault",
        message: /make room on the server's disk/,
      });
      rmSync(filler);
      const next = await new Owner({ ...options(schema), url }).open();
      assert.equal(await next.commit(owner.acknowledged.length + 1), "done");
      assert.deepEqual(await idsIn(next.engine), [...owner.acknowledged, ...next.acknowledged]);
      await next.engine.close();
    } finally {
      await server.sql("drop database if exists small with (force)").catch(() => {});
      await server.sql("drop tablespace if exists small").catch(() => {});
      execFileSync("umount", ["-l", disk]);
      rmSync(disk, { recursive: true });
    }
  });

  test("of two claimants at the same moment only the last one commits", async () => {
    const schema = nextSchema();
    // The last claimant ends the sessions of the other, which may not have opened by then.
    const claim = async (task: number) => {
      const owner = new Owner(options(schema));
      try {
        await owner.open();
      } catch (fault) {
        assert.ok(fault instanceof Unavailable || fault instanceof StoreFault, String(fault));
        return { outcome: "not opened", owner };
      }
      return { outcome: undefined, owner, task };
    };
    for (let round = 1; round <= 10; round++) {
      const pair = await Promise.all([claim(round * 10), claim(round * 10 + 1)]);
      const outcomes = await Promise.all(
        pair.map(({ outcome, owner, task = 0 }) => outcome ?? owner.commit(task)),
      );
      assert.equal(outcomes.filter((outcome) => outcome === "done").length, 1, outcomes.join());
      for (const { owner } of pair) await owner.engine.close();
    }
  });

  test("a claimant that was too late does not end the sessions of the one that claimed since", async () => {
    const place = { url: server.url, schema: nextSchema(), settings: "" };
    await (await new Owner(options(place.schema)).open()).engine.close();
    const [early, late] = ["early", "late"].map(
      (instance) => new Session({ ...place, instance }, 10_000),
    ) as [Session, Session];
    const first = (await claim(early, await readOwner(early), { instance: "early" })) as OwnerRow;
    const second = (await claim(late, first, { instance: "late" })) as OwnerRow;
    const third = (await claim(early, second, { instance: "early" })) as OwnerRow;
    await endSessions(late, "early", second);
    assert.equal((await readOwner(early)).epoch, third.epoch);
    assert.equal(early.connections, 1);
    await endSessions(early, "late", third);
    // The server ends a session soon, and the next call makes a new connection.
    while (late.connections === 1) await readOwner(late).catch(() => {});
    for (const session of [early, late]) await session.close();
  });

  test("every batch that was acknowledged before a claim is read by the new owner", async () => {
    const schema = nextSchema();
    const acknowledged: number[] = [];
    let task = 0;
    let owner = await new Owner(options(schema)).open();
    for (let round = 0; round < 10; round++) {
      const deposed = owner;
      const committing = (async () => {
        while ((await deposed.commit(++task)) === "done");
      })();
      await pause(20);
      owner = await new Owner(options(schema)).open();
      await committing;
      acknowledged.push(...deposed.acknowledged);
      await deposed.engine.close();
    }
    const stored = new Set(await idsIn(owner.engine));
    assert.ok(acknowledged.length > 0);
    assert.deepEqual(
      acknowledged.filter((id) => !stored.has(id)),
      [],
    );
    await owner.engine.close();
  });

  test("an owner that was stopped in the middle of a fold does not hold up the next", async () => {
    const schema = nextSchema();
    const first = await new Owner(options(schema)).open();
    await first.commit(1);
    const [row] = await server.sql<{ instance: string }>(`select instance from ${schema}.owner`);
    // A session of the first owner that has locked the fold row and says nothing more.
    const { default: pg } = await import("pg");
    const stopped = new pg.Client({ connectionString: server.url, application_name: row?.instance ?? "" });
    stopped.on("error", () => {});
    await stopped.connect();
    await stopped.query(`begin; select * from ${schema}.fold for update`);
    const second = await new Owner(options(schema)).open();
    assert.deepEqual(await idsIn(second.engine), [1]);
    for (const { engine } of [first, second]) await engine.close();
  });
});

describe("postgres engine and a synchronous standby", { skip: withoutPostgres }, () => {
  let primary: TestServer;
  let standby: TestServer;
  before(async () => {
    primary = await TestServer.start({ fsync: "on", synchronous_standby_names: "*" });
    standby = await primary.standby();
  });
  after(async () => {
    await standby.destroy();
    await primary.destroy();
  });

  const options = () => ({
    url: `postgres://yard@/postgres?host=${primary.folder},${standby.folder}`,
    commitMs: 1000,
  });
  const waiting = `from pg_stat_activity where application_name like 'yardmaster/%' and wait_event = 'SyncRep'`;

  /** Runs this on every session that waits for the standby, as soon as there is one. */
  async function interrupt(call: "pg_cancel_backend" | "pg_terminate_backend"): Promise<void> {
    for (;;) {
      if ((await primary.sql(`select ${call}(pid) ${waiting}`)).length > 0) return;
      await pause(20);
    }
  }

  for (const call of ["pg_cancel_backend", "pg_terminate_backend"] as const) {
    test(`${call} during the wait for the standby: not done until a later write is replicated`, async () => {
      const owner = await new Owner(options()).open();
      assert.equal(owner.engine.durability, "replicated");
      await owner.commit(1);
      await standby.stop();
      try {
        const offered = owner.offer(2);
        await interrupt(call);
        assert.match((await offered).type, /^(unknown|unavailable)$/);
        // The row is there by now, and the standby does not have it.
        assert.match((await owner.offer(2)).type, /^(unknown|unavailable)$/);
      } finally {
        await standby.start();
      }
      assert.equal(await owner.commit(2), "done");
      assert.equal((await owner.engine.task(2 as TaskId))?.head.id, 2);
      await owner.engine.close();
    });
  }

  /** Nothing is folded until the returned function is called. */
  async function holdFolds(): Promise<() => Promise<void>> {
    const { default: pg } = await import("pg");
    const holder = new pg.Client({ connectionString: primary.url });
    await holder.connect();
    await holder.query("begin; select * from yardmaster.fold for update");
    return () => holder.end();
  }

  test("a read does not show a batch that may still be lost, although it is in the log", async () => {
    const owner = await new Owner(options()).open();
    const first = Math.max(0, ...(await idsIn(owner.engine))) + 1;
    const release = await holdFolds();
    await owner.commit(first);
    await standby.stop();
    try {
      const offered = owner.offer(first + 1);
      await interrupt("pg_cancel_backend");
      assert.match((await offered).type, /^(unknown|unavailable)$/);
      await release();
      await owner.engine.whenCaughtUp();
      assert.equal(await owner.engine.task((first + 1) as TaskId), undefined);
    } finally {
      await standby.start();
    }
    assert.equal(await owner.commit(first + 1), "done");
    assert.equal((await owner.engine.task((first + 1) as TaskId))?.head.id, first + 1);
    await owner.engine.close();
  });

  test("a new primary without the last folds: they are made again, and reads miss nothing", async () => {
    const owner = await new Owner(options()).open();
    const task = Math.max(0, ...(await idsIn(owner.engine))) + 1;
    const release = await holdFolds();
    await owner.commit(task);
    await standby.stop();
    await release();
    await owner.engine.whenCaughtUp();
    await primary.stop("SIGQUIT");
    await standby.start();
    await standby.promote();
    assert.equal((await owner.engine.task(task as TaskId))?.head.id, task);
    assert.ok((await idsIn(owner.engine)).includes(task));
    await owner.engine.close();
    [primary, standby] = [standby, primary];
    await standby.follow(primary);
    await primary.sql("alter system set synchronous_standby_names = '*'");
    await primary.sql("select pg_reload_conf()");
  });

  // The last one: it uses the servers up.
  test("the primary is killed and the standby promoted: the owner goes on, and nothing is lost", async () => {
    const owner = await new Owner(options()).open();
    const first = Math.max(0, ...(await idsIn(owner.engine)));
    let isOver = false;
    const committing = (async () => {
      for (let task = first + 1; !isOver; task++) await owner.commit(task);
    })();
    await pause(300);
    await primary.stop("SIGQUIT");
    await standby.promote();
    await standby.sql("alter system set synchronous_standby_names = ''").catch(() => {});
    const before = owner.acknowledged.length;
    while (owner.acknowledged.length < before + 5) await pause(20);
    isOver = true;
    await committing;
    const stored = new Set(await idsIn(owner.engine));
    assert.deepEqual(
      owner.acknowledged.filter((id) => !stored.has(id)),
      [],
    );
    await owner.engine.close();
  });
});
