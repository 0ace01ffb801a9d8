import assert from "node:assert/strict";
import { test } from "node:test";
import { filterOf, parseTaskQuery, taskQueryText, withChip, withoutChip, withoutEach } from "./task-query.js";

test("chips and words are told apart, and written back", () => {
  const query = parseTaskQuery('state:failed queue:render worker:"http/a b" timed out');
  assert.deepEqual(
    query.chips.map(({ key, value, fault }) => [key, value, fault]),
    [
      ["state", "failed", undefined],
      ["queue", "render", undefined],
      ["worker", "http/a b", undefined],
    ],
  );
  assert.equal(query.words, "timed out");
  assert.equal(taskQueryText(query), 'state:failed queue:render worker:"http/a b" timed out');
  assert.equal(taskQueryText(withoutChip(query, "worker")), "state:failed queue:render timed out");
  assert.equal(withChip(query, "state", "done").chips.length, 3);
});

test("without each part: words first, then the chips from the last one", () => {
  const without = withoutEach(parseTaskQuery('state:failed worker:"http/a b" timed out'));
  assert.deepEqual(
    without.map(({ part, rest }) => [part, taskQueryText(rest)]),
    [
      ["timed out", 'state:failed worker:"http/a b"'],
      ['worker:"http/a b"', "state:failed timed out"],
      ["state:failed", 'worker:"http/a b" timed out'],
    ],
  );
  assert.deepEqual(withoutEach(parseTaskQuery("")), []);
});

test("a chip with a wrong value says what was expected, and is left out of the filter", () => {
  const query = parseTaskQuery("state:broken since:soon constructor:x");
  assert.match(query.chips[0]?.fault ?? "", /expected one of waiting, running/);
  assert.match(query.chips[1]?.fault ?? "", /30s, 5m/);
  assert.deepEqual(filterOf(query, 0), { q: "constructor:x" });
});

test("a key and words are one search of the dispatcher's, so together one of them is too many", () => {
  assert.match(parseTaskQuery("key:frame-1 timeout").chips[0]?.fault ?? "", /expected no other words/);
  assert.equal(parseTaskQuery("key:frame-1 state:failed").chips[0]?.fault, undefined);
});

test("times count back from the dispatcher's now", () => {
  const now = Date.UTC(2026, 10, 16, 12);
  const filter = filterOf(parseTaskQuery("since:1h until:2026-11-16T11:30:00Z key:frame-1"), now);
  assert.deepEqual(filter, {
    since: "2026-11-16T11:00:00.000Z",
    until: "2026-11-16T11:30:00.000Z",
    q: "frame-1",
  });
});
