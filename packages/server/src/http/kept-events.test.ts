import assert from "node:assert/strict";
import { test } from "node:test";
import { EventFilter } from "./event-filter.js";
import { KeptEvents } from "./kept-events.js";

const all = new EventFilter({});

test("what is kept is bounded, also if listeners only come and go", () => {
  const kept = new KeptEvents("series");
  const { lastId } = kept;
  kept.mark();
  assert.equal(kept.since(lastId, all), "");
  for (let marks = 0; marks < 40_000; marks++) kept.mark();
  assert.equal(kept.since(lastId, all), undefined, "the oldest entries are no longer kept");
});
