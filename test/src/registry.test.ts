// A dialect is known in four places: the server's list of doors, the SDK's table of URL schemes,
// the simulator's populations, and its page. They must name the same dialects.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { dialectTable } from "@yardmaster/sdk";
import { doorList } from "@yardmaster/server";
import { populations } from "./simulation/populations.js";

const docs = new URL("../../docs/", import.meta.url);
const names = doorList.map(({ name }) => name).toSorted();

/** Pages of docs/dialects that describe no single dialect. */
const commonPages = ["bridging"];

test("the SDK speaks the dialect of every door, and no other", () => {
  const schemes = Object.keys(dialectTable).filter((scheme) => scheme !== "https");
  assert.deepEqual(schemes.toSorted(), names);
});

test("every door has its page, and every page of a dialect its door", () => {
  for (const { name, page } of doorList) assert.ok(existsSync(new URL(page, docs)), `${name}: docs/${page}`);
  const pages = readdirSync(new URL("dialects/", docs)).map((file) => `dialects/${file}`);
  const listed = doorList.map(({ page }) => page).filter((page) => page.startsWith("dialects/"));
  assert.deepEqual(
    pages.toSorted(),
    [...listed, ...commonPages.map((name) => `dialects/${name}.md`)].toSorted(),
  );
});

test("the simulator has a population of every door", () => {
  const simulated = new Set<string>(populations);
  assert.deepEqual(
    names.filter((name) => !simulated.has(name)),
    [],
  );
});
