// The SDK is for programs that are not dispatchers, so it must not depend on one.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

interface Package {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The package.json of a package, resolved from a folder. */
function packageFile(name: string, folder: string): string | undefined {
  const paths = createRequire(join(folder, "x.js")).resolve.paths(name) ?? [];
  return paths.map((path) => join(path, name, "package.json")).find(existsSync);
}

test("the SDK installs without the server's dependencies", () => {
  const start = fileURLToPath(new URL("../package.json", import.meta.url));
  const seen = new Map<string, string>();
  const visit = (file: string) => {
    const { name, dependencies = {} } = JSON.parse(readFileSync(file, "utf8")) as Package;
    if (seen.has(name)) return;
    seen.set(name, file);
    for (const dependency of Object.keys(dependencies)) {
      const found = packageFile(dependency, dirname(file));
      assert.ok(found, `${name} needs ${dependency}`);
      visit(found);
    }
  };
  visit(start);
  const names = [...seen.keys()].sort();
  for (const server of ["@yardmaster/server", "@yardmaster/engines", "fastify", "pino", "zod", "lmdb"]) {
    assert.ok(!names.includes(server), server);
  }
  assert.deepEqual(names, [
    "@bufbuild/protobuf",
    "@yardmaster/core",
    "@yardmaster/dialects",
    "@yardmaster/sdk",
    "@yardmaster/zmtp",
    // CURVE's crypto, in WebAssembly; loaded only by programs that use CURVE.
    "libsodium-sumo",
    "msgpackr",
  ]);
});
