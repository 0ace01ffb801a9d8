import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRoute, routeText } from "./route.js";

test("any address is read back as it was written", () => {
  const name = "a/b ?#%é";
  const text = routeText("queues", name, { q: "state:failed since:1h", empty: "", none: undefined });
  const { view, name: read, query } = parseRoute(text);
  assert.deepEqual([view, read, [...query]], ["queues", name, [["q", "state:failed since:1h"]]]);
});

test("an address that names no view is the overview", () => {
  for (const hash of ["", "#", "#/", "#/nothing", "#/constructor"])
    assert.equal(parseRoute(hash).view, "overview");
  assert.equal(routeText("overview"), "#/");
  assert.equal(parseRoute("#/task/%E0%A4%A").name, "%E0%A4%A");
});
