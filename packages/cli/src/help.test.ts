// The help text of every command.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { createProgram } from "./program.js";
import { CommandYard } from "./testing/commands.js";

const yard = new CommandYard();
after(() => yard.close());

const names = createProgram().commands.map((command) => command.name());

describe("help", { timeout: 600_000, concurrency: 2 }, () => {
  test("lists every command there is", async () => {
    const { stdout } = await yard.run(["--help"]);
    const listed = [...stdout.matchAll(/^ {2}([a-z-]+) +\S/gm)].map(([, name]) => name);
    assert.deepEqual(listed, names);
    const promised =
      "serve init config demo submit work tasks task workers queues queue schedules cancel retry purge drain cluster top tap bench doctor export import backup restore migrate token curve-keypair completion";
    assert.deepEqual(names, promised.split(" "));
  });

  for (const name of names) {
    test(`of ${name}: within 80 columns, with examples that are of it`, async () => {
      const { code, stdout, stderr } = await yard.run([name, "--help"]);
      assert.deepEqual([code, stderr], [0, ""]);
      for (const line of stdout.split("\n")) assert.ok(line.length <= 80, line);
      assert.ok((stdout.split("Examples:\n")[1] ?? "").includes(`yardmaster ${name}`), stdout);
      assert.equal(stdout.includes("--json"), name !== "completion");
    });
  }

  test("help NAME is NAME --help", async () => {
    for (const name of ["serve", "tasks"]) {
      assert.deepEqual(await yard.run(["help", name]), await yard.run([name, "--help"]));
    }
  });
});
