import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterMutants } from "./cluster-mutants.js";
import { engineMutants } from "./engine-mutants.js";
import { mutants as dispatcherMutants } from "./mutants.js";
import { mutate } from "./mutate.js";

test("each mutant has exactly one place, and a name of its own", () => {
  const mutants = [...dispatcherMutants, ...engineMutants, ...clusterMutants];
  for (const mutant of mutants) assert.doesNotThrow(() => mutate(mutant), `mutant "${mutant.name}"`);
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
});

test("a place is found by its declaration, in any file and formatting", () => {
  const { file, source } = mutate({
    in: "core:loseWorkers",
    find: "lose(\n  $yard, $$$)",
    replace: "void $yard",
  });
  assert.match(file, /core\/dist\/.*\.js$/);
  assert.match(source, /void yard/);
});

test("`$0` is the code that was found, and a property is a pattern, too", () => {
  const { source } = mutate({
    in: "dialects:Telling.unanswered",
    find: "again: $value",
    replace: "again: !($value), was: { $0 }",
  });
  assert.match(source, /again: !\(true\), was: \{ again: true \}/);
});

test("a pattern that fits nowhere, or twice, is an error", () => {
  const place = { in: "core:currentLease", replace: "" };
  assert.throws(() => mutate({ ...place, find: "lease.nothing" }), /occurs 0 times/);
  assert.throws(() => mutate({ ...place, find: "return undefined" }), /occurs 2 times/);
  assert.throws(() => mutate({ ...place, in: "core:noSuchThing", find: "lease" }), /occurs 0 times/);
});
