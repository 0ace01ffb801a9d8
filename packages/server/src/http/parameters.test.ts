import assert from "node:assert/strict";
import { test } from "node:test";
import {
  claimQuery,
  eventsQuery,
  listQuery,
  parseDuration,
  queuePath,
  submitItem,
  submitQuery,
  taskPath,
} from "./parameters.js";
import { validatorOf } from "./validation.js";

test("a duration is a number and one of four units", () => {
  const good: [string, number][] = [
    ["0s", 0],
    ["500ms", 500],
    ["30s", 30_000],
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["87600h", 315_360_000_000],
  ];
  for (const [text, ms] of good) assert.equal(parseDuration(text), ms, text);
  for (const text of [
    "",
    "5",
    "s",
    "1d",
    "1.5s",
    "-1s",
    "+1s",
    " 1s",
    "1s ",
    "1S",
    "1e3s",
    "0x1s",
    "87601h",
    "1s1s",
  ]) {
    assert.equal(parseDuration(text), undefined, text);
  }
});

test("every parameter of a submission is read", () => {
  const query = {
    priority: "-5",
    delay: "1s",
    timeout: "2m",
    expires: "1h",
    wait: "500ms",
    attempts: "3",
    failures: "2",
    key: "order 7/ü",
  };
  assert.deepEqual(submitQuery.parse(query), {
    priority: -5,
    delay: 1000,
    timeout: 120_000,
    expires: 3_600_000,
    wait: 500,
    attempts: 3,
    failures: 2,
    key: "order 7/ü",
  });
  assert.deepEqual(submitQuery.parse({}), {});
});

test("a claim and a list have defaults", () => {
  assert.deepEqual(claimQuery.parse({ worker: "w" }), { worker: "w", max: 1, wait: 0, lease: 30_000 });
  assert.deepEqual(listQuery.parse({}), { limit: 100 });
  assert.deepEqual(listQuery.parse({ since: "2024-05-01T12:00:00.5+02:00" }).since, 1714557600500);
});

function fault(schema: unknown, httpPart: string, data: unknown): string {
  const validate = validatorOf({ schema, httpPart, method: "POST", url: "/" } as never);
  const { error } = validate(data) as { error?: { code: string; message: string } };
  return error ? `${error.code}: ${error.message}` : "accepted";
}

const query = (schema: unknown, data: unknown) => fault(schema, "querystring", data);
const durationExpected = "expected a duration such as 500ms, 30s, 5m or 1h";

test("a mistake names the parameter, what was found and what was expected", () => {
  assert.equal(
    query(submitQuery, { delay: "5" }),
    `bad_request: delay: found "5", ${durationExpected}, at most 87600h`,
  );
  assert.equal(
    query(submitQuery, { wait: "2h" }),
    `bad_request: wait: found "2h", ${durationExpected}, at most 1h`,
  );
  assert.equal(
    query(submitQuery, { timeout: "0s" }),
    `bad_request: timeout: found "0s", ${durationExpected}, at least 1ms, at most 87600h`,
  );
  assert.equal(
    query(submitQuery, { attempts: "1.0" }),
    'bad_request: attempts: found "1.0", expected a whole number from 1 to 1000000',
  );
  assert.equal(
    query(eventsQuery, { types: "queue,nothing" }),
    'bad_request: types: found "nothing", expected any of queue, worker, task, alert, attempts, beats, figures',
  );
  assert.match(
    query(eventsQuery, { queue: "a,b c" }),
    /^bad_request: queue: found "b c", expected a queue's/,
  );
  assert.match(query(eventsQuery, { task: "17,x" }), /^bad_request: task: found "x", expected /);
  for (const priority of ["", " 1", "1e3", "0x10", "true", "2147483648", "99999999999999999999"]) {
    assert.match(
      query(submitQuery, { priority }),
      /^bad_request: priority: found .*whole number from -2147483648/,
    );
  }
  assert.equal(
    query(submitQuery, { priority: ["1", "2"] }),
    'bad_request: priority: found ["1","2"], expected a whole number from -2147483648 to 2147483647, once',
  );
  assert.match(
    query(submitQuery, { key: "a\nb" }),
    /^bad_request: key: found "a\\nb", expected 1 to 512 printable/,
  );
  assert.match(query(listQuery, { state: "ready" }), /expected one of waiting, running, done/);
  assert.match(
    query(listQuery, { since: "yesterday" }),
    /^bad_request: since: found "yesterday", expected a time/,
  );
  assert.match(query(listQuery, { limit: "0" }), /expected a whole number from 1 to 1000/);
  assert.equal(
    query(claimQuery, {}),
    "bad_request: worker is missing: expected 1 to 128 printable characters",
  );
  assert.match(query(claimQuery, { worker: "x".repeat(129) }), /expected 1 to 128 printable characters/);
});

test("an unknown parameter is refused with those that are known", () => {
  assert.equal(
    query(submitQuery, { prio: "1" }),
    'bad_request: unknown parameter "prio" (known here: priority, delay, timeout, expires, wait, attempts, failures, key, group, after, ifFailed, view)',
  );
  assert.match(
    query(submitQuery, { atempts: "1" }),
    /^bad_request: unknown parameter "atempts"; did you mean attempts\?/,
  );
});

test("an odd queue name is a mistake, an odd id is one that is not there", () => {
  assert.equal(
    fault(queuePath, "params", { queue: "a b" }),
    'bad_request: "a b" is not a queue\'s name: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit',
  );
  for (const id of ["", "0", "01", "-1", "1.5", "1e3", "x", "9007199254740992"]) {
    assert.equal(fault(taskPath, "params", { id }), `not_found: there is nothing with the id "${id}"`);
  }
  assert.equal(fault(taskPath, "params", { id: "9007199254740991" }), "accepted");
});

test("a key that is far too long is refused, whatever its characters", () => {
  for (const character of ["k", "😀"]) {
    const parsed = submitItem.safeParse({ key: character.repeat(20_000_000) });
    assert.equal(parsed.error?.issues[0]?.message, "1 to 512 printable characters");
  }
});
