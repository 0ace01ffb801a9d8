// `yardmaster migrate` with a real dispatcher before and after it. The tests of the engines package
// have the Postgres engine.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { CommandYard } from "../testing/commands.js";

describe("migrate", { timeout: 300_000 }, () => {
  const yard = new CommandYard();
  after(() => yard.close());
  const [old, moved] = [join(yard.folder, "old"), join(yard.folder, "moved")];
  const serve = async (data: string) => {
    const closed = { pingpong: false, pulse: false, udp: false, monique: false, scaler: false };
    const config = { doors: { ...closed, http: { listen: "127.0.0.1:0" } }, data, reserveBytes: 0 };
    writeFileSync(join(yard.folder, "yardmaster.json"), JSON.stringify(config));
    const started = yard.start(["serve", "--json"]);
    const { doors } = JSON.parse(await started.line());
    const env = { YARD_URL: `http://${doors.http.listen}` };
    const stop = async () => {
      started.child.kill("SIGTERM");
      assert.equal((await started.ended).code, 0);
    };
    return {
      run: (args: string[], input?: string) => yard.run(args, { env, ...(input && { input }) }),
      stop,
    };
  };

  test("moves the store of a stopped dispatcher, and the next one goes on with it", async () => {
    const before = await serve(old);
    await before.run(["submit", "--queue", "mail", "-"], "one\ntwo\nthree\n");
    await before.run(["cancel", "2"]);
    await before.run(["queues", "--pause", "mail"]);
    const expected = await before.run(["export", "--payloads"]);
    const running = await yard.run(["migrate", "--from", old, "--to", moved]);
    assert.equal(running.code, 1);
    assert.match(running.stderr, /yardmaster migrate: The store in .* is in use by process \d+/);
    await before.stop();

    const { code, stdout, stderr } = await yard.run(["migrate", "--from", old, "--to", moved]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^3 tasks: 2 waiting, 1 cancelled\n3 payloads and results, 0\.0 MB\n/);
    assert.match(stdout, /Everything was read back and is identical/);
    const again = await yard.run(["migrate", "--from", old, "--to", moved]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /is not empty: it has yard\.mdb/);

    const after = await serve(moved);
    assert.equal((await after.run(["export", "--payloads"])).stdout, expected.stdout);
    assert.match((await after.run(["queues"])).stdout, /mail .*paused/);
    assert.match((await after.run(["submit", "--queue", "mail", "four"])).stdout, /\b4\b/);
    await after.stop();
    const json = await yard.run(["migrate", "--from", moved, "--to", join(yard.folder, "third"), "--json"]);
    assert.deepEqual(JSON.parse(json.stdout).tasks.waiting, 3);
  });

  const mistakes: [string, string[], RegExp][] = [
    ["no source", ["--to", "x"], /required option '--from <store>' not specified/],
    ["no target", ["--from", "x"], /required option '--to <store>' not specified/],
    ["the memory engine", ["--from", "memory", "--to", "x"], /--from: the memory engine keeps nothing/],
    [
      "another database",
      ["--from", "x", "--to", "mysql://x/y"],
      /--to: mysql:\/\/x\/y: expected a folder, or/,
    ],
    ["an empty name", ["--from", "", "--to", "x"], /--from: : expected a folder/],
    [
      "a wrong schema",
      ["--from", "x", "--to", "y", "--schema", "A;b"],
      /--schema: A;b: expected a schema's name/,
    ],
  ];
  for (const [name, args, expected] of mistakes) {
    test(`refuses ${name}`, async () => {
      const { code, stderr } = await yard.run(["migrate", ...args]);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    });
  }

  test("says that there is no store", async () => {
    const { code, stderr } = await yard.run(["migrate", "--from", join(yard.folder, "none"), "--to", "x"]);
    assert.equal(code, 1);
    assert.match(stderr, /^yardmaster migrate: There is no store in .*none\n$/);
  });
});
