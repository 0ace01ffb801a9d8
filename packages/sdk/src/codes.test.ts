// Error codes are for programs. The README lists every code that the SDK uses, and no other.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../", import.meta.url));

test("the README lists the codes that the SDK's own errors have", () => {
  const sources = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(folder, "src", file), "utf8"))
    .join("\n");
  const made = [...sources.matchAll(/new (?:YardError|ArgumentError|InterruptedError)\(\s*"(\w+)"/g)].map(
    ([, code]) => code,
  );
  const readme = readFileSync(join(folder, "README.md"), "utf8").split("## Errors")[1] ?? "";
  const listed = new Set([...readme.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code));
  for (const code of [...made, "unsupported", "unreachable"])
    assert.ok(listed.has(code), `${code} is not in the README`);
});
