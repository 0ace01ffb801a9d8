// Every cell of the README's comparison has a row with a source in docs/comparison.md.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const text = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("every cell of the comparison has a source", () => {
  const [, section = ""] = text("README.md").split("## How it compares");
  const rows = [...section.matchAll(/^\| ([^|]+) \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)];
  const sources = text("docs/comparison.md");
  assert.ok(rows.length > 7, "the table is found");
  for (const [, system = "", ...cells] of rows) {
    for (const [index, column] of ["needs", "connects", "is better at"].entries()) {
      if (cells[index]?.trim() === "") continue;
      assert.match(sources, new RegExp(`^\\| ${system} ${column} \\|.+\\| .*\\]\\(.+\\) \\|$`, "m"));
    }
  }
});
