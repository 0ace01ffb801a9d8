// `yardmaster backup` and `restore` with a running dispatcher, and `import` of an export.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { CommandYard } from "../testing/commands.js";

describe("what a dispatcher stores", { timeout: 300_000 }, () => {
  const yard = new CommandYard();
  after(() => yard.close());
  let env = {};
  const run = (args: readonly string[], options = {}) => yard.run([...args], { env, ...options });

  test("is backed up while the dispatcher runs, and a second one starts with the copy", async () => {
    const data = join(yard.folder, "data");
    const closed = { pingpong: false, pulse: false, udp: false, monique: false, scaler: false };
    const config = { doors: { ...closed, http: { listen: "127.0.0.1:0" } }, data, reserveBytes: 0 };
    writeFileSync(join(yard.folder, "yardmaster.json"), JSON.stringify(config));
    const first = yard.start(["serve", "--json"]);
    const ready = JSON.parse(await first.line());
    env = { YARD_URL: `http://${ready.doors.http.listen}` };
    await run(["submit", "--queue", "mail", "-"], { input: "one\ntwo\nthree\n" });
    const copy = join(yard.folder, "copy");
    const made = await run(["backup", copy]);
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    assert.match(made.stdout, /^the backup is in .*copy: [\d.]+ MB in /);
    const again = await run(["backup", copy]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /is not empty/);
    const restored = join(yard.folder, "restored");
    assert.equal((await run(["restore", "--data", restored, copy])).code, 0);
    assert.match((await run(["restore", "--data", data, copy])).stderr, /is not empty/);

    const second = yard.start(["serve", "--json", "--data", restored]);
    const { doors } = JSON.parse(await second.line());
    const { stdout } = await run(["export", "--payloads", "--url", `http://${doors.http.listen}`]);
    const payloads = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).payload);
    assert.deepEqual(payloads, ["three", "two", "one"]);
    second.child.kill("SIGTERM");
    assert.equal((await second.ended).code, 0);
  });

  test("by another engine is not in the folder, and the command says where it is", async () => {
    const config = join(yard.folder, "postgres.yaml");
    writeFileSync(config, "engine: postgres\npostgres: { url: postgres://yard@db/yard }\n");
    for (const command of ["backup", "restore"]) {
      const postgres = await run([command, "--config", config, join(yard.folder, "none")]);
      assert.equal(postgres.code, 1);
      assert.match(postgres.stderr, /the engine is postgres, .*Postgres' own tools/);
      const memory = await run([command, join(yard.folder, "none")], { env: { YARD_ENGINE: "memory" } });
      assert.match(memory.stderr, /the engine is memory, which keeps nothing/);
    }
    // A folder that is named is what is meant.
    const data = join(yard.folder, "nothing");
    const named = await run(["backup", "--config", config, "--data", data, join(yard.folder, "none")]);
    assert.match(named.stderr, /There is no store in .*nothing/);
  });

  test("is exported, and imported in the same order under new ids", async () => {
    await run(["submit", "--queue", "mail", "--key", "k4", "--priority", "7", "four"]);
    const { stdout } = await run(["export", "--queue", "mail", "--payloads"]);
    await run(["cancel", "--queue", "mail", "--yes"]);
    const input = stdout.replaceAll('"key":"k4"', '"key":"k5"');
    const { code, stdout: said } = await run(["import", "-"], { input });
    assert.deepEqual([code, said], [0, "4 tasks imported\n"]);
    const after = await run(["export", "--queue", "mail", "--state", "waiting", "--payloads"]);
    const tasks = after.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      tasks.map(({ id, payload, key, priority }) => [id, payload, key, priority]),
      [
        ["8", "four", "k5", 7],
        ["7", "three", null, 0],
        ["6", "two", null, 0],
        ["5", "one", null, 0],
      ],
    );
    const wrong = await run(["import", "-"], { input: "{}\nnonsense\n" });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /line 2: not a task/);
  });
});
