// Migrations from a folder into a database and back, with a real server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { steps } from "../conformance/change-lists.js";
import { type EngineSite, Owner } from "../conformance/owner.js";
import { EmbeddedEngine } from "../embedded/embedded-engine.js";
import { migrateStore } from "../migration/migrate.js";
import { assertAlike, fillWithEverything, fillWithMany } from "../migration/testing/sample-yard.js";
import { PostgresEngine } from "./postgres-engine.js";
import { asVersion2 } from "./testing/older-schema.js";
import { TestServer, withoutPostgres } from "./testing/server.js";

describe("a migration", { skip: withoutPostgres }, () => {
  let server: TestServer;
  let root = "";
  let names = 0;
  before(async () => {
    server = await TestServer.start({ fsync: "off" });
    root = mkdtempSync(join(tmpdir(), "yard-migrate-"));
  });
  after(async () => {
    await server.destroy();
    rmSync(root, { recursive: true });
  });

  const newFolder = () => {
    const folder = join(root, String(++names));
    const site: EngineSite = { open: async () => new EmbeddedEngine({ folder }), destroy: async () => {} };
    return { place: { folder }, site };
  };
  const newSchema = () => {
    const place = { url: server.url, schema: `moved_${++names}`, requireSync: false };
    const site: EngineSite = {
      open: async () => new PostgresEngine({ ...place, isLocal: true }),
      destroy: async () => {},
    };
    return { place, site };
  };
  const fill = async (site: EngineSite, work: (owner: Owner) => Promise<void>) => {
    const owner = await Owner.take(site);
    await work(owner);
    await owner.engine.close();
  };
  /** From a folder into a schema and back again. */
  const moveTwice = async (work: (owner: Owner) => Promise<void>) => {
    const [old, middle, last] = [newFolder(), newSchema(), newFolder()];
    await fill(old.site, work);
    const there = await migrateStore({ from: old.place, to: middle.place });
    await assertAlike(old.site, middle.site);
    const back = await migrateStore({ from: middle.place, to: last.place });
    assert.deepEqual(back, there);
    await assertAlike(old.site, last.site);
    return there;
  };

  test("carries every record and body there and back", async () => {
    const { tasks } = await moveTwice(fillWithEverything);
    assert.deepEqual(tasks, { waiting: 2, running: 1, done: 9, failed: 3, cancelled: 2, expired: 2 });
  });

  test("carries any history there and back", async () => {
    const property = fc.asyncProperty(steps, async (someSteps) => {
      await moveTwice(async (owner) => {
        for (const { change } of someSteps) await owner.commit(change);
      });
    });
    await fc.assert(property, { numRuns: 4 });
  });

  test("carries 100,000 tasks", async (context) => {
    const [old, middle, last] = [newFolder(), newSchema(), newFolder()];
    await fill(old.site, (owner) => fillWithMany(owner, 100_000));
    const began = performance.now();
    const { tasks } = await migrateStore({ from: old.place, to: middle.place });
    const moved = performance.now();
    await migrateStore({ from: middle.place, to: last.place });
    const seconds = [moved - began, performance.now() - moved].map((ms) => (ms / 1000).toFixed(1));
    context.diagnostic(`into the database ${seconds[0]} s, back ${seconds[1]} s`);
    assert.deepEqual([tasks.waiting, tasks.done], [50_000, 50_000]);
    await assertAlike(old.site, last.site);
  });

  test("refuses a database that a dispatcher uses, and does not disturb it", async () => {
    const [old, target] = [newSchema(), newFolder()];
    const owner = await Owner.take(old.site);
    await assert.rejects(
      migrateStore({ from: old.place, to: target.place }),
      /A dispatcher uses the schema /,
    );
    await owner.commit();
    await owner.engine.close();
  });

  test("refuses a schema without a store, and one that has a store", async () => {
    const [old, taken, folder] = [newSchema(), newSchema(), newFolder()];
    await assert.rejects(
      migrateStore({ from: old.place, to: folder.place }),
      /There is no store in the schema /,
    );
    await fill(taken.site, async () => {});
    await fill(folder.site, async () => {});
    await assert.rejects(
      migrateStore({ from: folder.place, to: taken.place }),
      /There is a store in the schema .* already/,
    );
  });

  test("says so if the server cannot be reached, without the password", async () => {
    const folder = newFolder();
    await fill(folder.site, async () => {});
    const url = "postgres://yard:secret@127.0.0.1:1/yard";
    const refused = migrateStore({ from: folder.place, to: { url, schema: "yard", requireSync: true } });
    await assert.rejects(refused, ({ name, message }: Error) => {
      return name === "StoreFault" && message.includes("ECONNREFUSED") && !message.includes("secret");
    });
  });

  test("reads a database that an older version left", async () => {
    const [old, target] = [newSchema(), newFolder()];
    await fill(old.site, async () => {});
    const { schema } = old.place;
    await asVersion2(server.url, schema);
    await server.sql(`alter table ${schema}.owner drop column safe`);
    await server.sql(`drop table ${schema}.nodes`);
    await server.sql(`update ${schema}.owner set version = 1`);
    await migrateStore({ from: old.place, to: target.place });
    await assertAlike(old.site, target.site);
  });

  test("uses a schema that was made for it", async () => {
    const [old, target] = [newFolder(), newSchema()];
    await fill(old.site, fillWithEverything);
    await server.sql(`create schema ${target.place.schema}`);
    await migrateStore({ from: old.place, to: target.place });
    await assertAlike(old.site, target.site);
  });

  const killedAt = [
    ["into a database, while it copies", "copy"],
    ["into a database, while it checks", "check"],
  ] as const;
  for (const [name, phase] of killedAt) {
    test(`survives kill -9 ${name}`, async () => {
      const [old, target] = [newFolder(), newSchema()];
      await fill(old.site, (owner) => fillWithMany(owner, 5000));
      await killDuring(phase, old.place, target.place);
      await assert.rejects((await target.site.open()).open(), /did not finish .*drop the schema moved_/);
      await migrateStore({ from: old.place, to: target.place });
      await assertAlike(old.site, target.site);
    });
    test(`survives kill -9 ${name.replace("a database", "a folder")}`, async () => {
      const [old, target] = [newSchema(), newFolder()];
      await fill(old.site, (owner) => fillWithMany(owner, 5000));
      await killDuring(phase, old.place, target.place);
      await assert.rejects((await target.site.open()).open(), /did not finish .*or remove /);
      await migrateStore({ from: old.place, to: target.place });
      await assertAlike(old.site, target.site);
    });
  }
});

/** Runs a migration in a process of its own, which ends in the middle of this phase. */
async function killDuring(phase: string, from: object, to: object): Promise<void> {
  const migrate = fileURLToPath(new URL("../migration/migrate.js", import.meta.url));
  const script = `import { migrateStore } from ${JSON.stringify(migrate)};
    await migrateStore({ ...${JSON.stringify({ from, to })}, onProgress: (phase, done, total) => {
      if (phase === ${JSON.stringify(phase)} && done > total / 2) process.kill(process.pid, "SIGKILL");
    } });`;
  const file = join(mkdtempSync(join(tmpdir(), "yard-migrate-")), "migrate.mjs");
  writeFileSync(file, script);
  const child = spawn(process.execPath, [file], { stdio: "inherit" });
  const signal = await new Promise((resolve) => child.once("exit", (_, by) => resolve(by)));
  rmSync(dirname(file), { recursive: true });
  assert.equal(signal, "SIGKILL");
}
