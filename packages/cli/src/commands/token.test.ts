// `yardmaster token new`: a token that the printed lines accept.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { CommandYard } from "../testing/commands.js";

const yard = new CommandYard();
after(() => yard.close());

test("prints a token once, and its digest for the config", async () => {
  const { code, stdout, stderr } = await yard.run(["token", "new", "ci"]);
  assert.deepEqual([code, stderr], [0, ""]);
  const [, token = ""] = /^(yard_[\w-]{43})\n/.exec(stdout) ?? [];
  const digest = createHash("sha256").update(token).digest("hex");
  assert.match(
    stdout,
    new RegExp(`access:\n  principals:\n    ci:\n      tokens: \\[\\{ sha256: ${digest} \\}\\]`),
  );
  assert.equal(stdout.split(token).length, 2);
  const again = JSON.parse((await yard.run(["token", "new", "ci", "--json"])).stdout) as Record<
    string,
    string
  >;
  assert.notEqual(again.token, token);
  assert.equal(
    again.sha256,
    createHash("sha256")
      .update(again.token ?? "")
      .digest("hex"),
  );
});

test("a wrong verb or name is a usage mistake", async () => {
  assert.equal((await yard.run(["token", "make", "ci"])).code, 2);
  assert.equal((await yard.run(["token", "new", "a b"])).code, 2);
  assert.equal((await yard.run(["token", "new"])).code, 2);
});
