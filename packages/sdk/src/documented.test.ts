// Every name that the package exports has a comment of its own: it is what an editor shows.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = new URL("../src/", import.meta.url);

interface Exported {
  readonly name: string;
  readonly isDocumented: boolean;
}

/** The names that a file exports itself. */
function exportsOf(file: string): Exported[] {
  const text = readFileSync(new URL(file, source), "utf8");
  const declaration =
    /(?:(\*\/)\s*\n(?:\/\/[^\n]*\n)*)?export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|function\*?|const) (\w+)/g;
  return [...text.matchAll(declaration)].map(([, comment, name = ""]) => ({
    name,
    isDocumented: comment !== undefined,
  }));
}

test("every exported name has a comment", () => {
  const index = readFileSync(new URL("index.ts", source), "utf8");
  const undocumented: string[] = [];
  let count = 0;
  for (const [, names, path = ""] of index.matchAll(/export (?:\*|\{([^}]*)\}) from "\.\/(.*?)\.js"/g)) {
    const wanted = names === undefined ? undefined : new Set(names.match(/\w+/g));
    const documented = new Set<string>();
    const all = exportsOf(`${path}.ts`).filter(({ name }) => wanted?.has(name) ?? true);
    for (const { name, isDocumented } of all) if (isDocumented) documented.add(name);
    for (const { name } of all) if (!documented.has(name)) undocumented.push(`${path}.ts: ${name}`);
    count += all.length;
  }
  assert.ok(count > 60, `${count} names were found`);
  assert.deepEqual(undocumented, []);
});
