// `yardmaster init`, `config check` and `serve --print-config`.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { CommandYard } from "../testing/commands.js";

const yard = new CommandYard();
after(() => yard.close());

describe("a configuration", { timeout: 600_000 }, () => {
  test("is written once, and is kept", async () => {
    const file = join(yard.folder, "new.yaml");
    assert.equal((await yard.run(["init", file])).code, 0);
    const text = readFileSync(file, "utf8");
    assert.match(text, /^#data: /m);
    const again = await yard.run(["init", file]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /is already there; --force replaces it/);
    const checked = await yard.run(["config", "check", file]);
    assert.deepEqual([checked.code, checked.stdout], [0, `${file} has no mistakes\n`]);
    assert.equal((await yard.run(["init", "-"])).stdout, text);
  });

  test("with mistakes is refused, with their lines", async () => {
    const file = join(yard.folder, "wrong.yaml");
    writeFileSync(file, "data: /tmp\nkeyTtlSecond: 3\ndrainSeconds: soon\n");
    const { code, stdout, stderr } = await yard.run(["config", "check", file]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /wrong\.yaml:2: keyTtlSecond: unknown key; did you mean keyTtlSeconds\?/);
    assert.match(stderr, /wrong\.yaml:3: drainSeconds: found "soon", expected a number of seconds/);
    const { mistakes } = JSON.parse((await yard.run(["config", "check", file, "--json"])).stdout);
    assert.equal(mistakes.length, 2);
    const missing = await yard.run(["config", "check", join(yard.folder, "none.yaml")]);
    assert.match(missing.stderr, /there is no such file/);
  });

  test("is printed as it is in force, with origins", async () => {
    const file = join(yard.folder, "right.yaml");
    writeFileSync(file, "drainSeconds: 3\nqueues:\n  mail: { attempts: 2 }\n");
    const env = { YARD_DATA: "/somewhere", YARD_HTTP_LISTEN: "127.0.0.1:0" };
    const args = ["serve", "--print-config", "--config", file, "--engine", "memory"];
    const { code, stdout } = await yard.run(args, { env });
    assert.equal(code, 0);
    assert.match(stdout, /^data: "\/somewhere" +# YARD_DATA$/m);
    assert.match(stdout, /^engine: "memory" +# --engine$/m);
    assert.match(stdout, /^drainSeconds: 3 +# .*right\.yaml:1$/m);
    assert.match(stdout, /^doors\.http\.listen: "127\.0\.0\.1:0" +# YARD_HTTP_LISTEN$/m);
    assert.match(stdout, /^queues\.mail\.attempts: 2 +# .*right\.yaml:3$/m);
    assert.match(stdout, /^graceSeconds: 10 +# default$/m);
    const lines = (await yard.run([...args, "--json"], { env })).stdout.trim().split("\n");
    assert.deepEqual(JSON.parse(lines[0] ?? ""), { path: "data", value: "/somewhere", origin: "YARD_DATA" });
  });
});
