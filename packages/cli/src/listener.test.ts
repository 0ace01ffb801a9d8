import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { CommandYard } from "./testing/commands.js";

const yard = new CommandYard();
after(() => yard.close());

describe("nothing listens at a ZeroMQ door", () => {
  const lines = [
    ["submit", "pingpong://127.0.0.1:1", "x"],
    ["submit", "scaler://127.0.0.1:1", "x"],
    ["submit", "monique://127.0.0.1:1?out=2", "-q", "spec", "x"],
    ["bench", "scaler://127.0.0.1:1", "-n", "1"],
  ];
  for (const args of lines) {
    test(`${args.join(" ")} says so and exits with 1`, { timeout: 60_000 }, async () => {
      const { code, stderr } = await yard.run(args);
      assert.equal(code, 1);
      assert.match(stderr, /127\.0\.0\.1:1.* cannot be reached: nothing listens there/);
    });
  }
});
