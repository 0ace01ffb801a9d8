import assert from "node:assert/strict";
import { test } from "node:test";
import { Requests } from "./requests.js";

test("each request is answered once, by its number", () => {
  const requests = new Requests<string>();
  const answers: string[] = [];
  const first = requests.open((reply) => answers.push(`first ${reply}`));
  const second = requests.open((reply) => answers.push(`second ${reply}`));
  assert.notEqual(first, second);
  assert.equal(requests.settle(second, "a"), true);
  assert.equal(requests.settle(second, "b"), false);
  assert.equal(requests.settle(first, "c"), true);
  assert.deepEqual(answers, ["second a", "first c"]);
  assert.equal(requests.size, 0);
});

test("a dropped request takes no answer", () => {
  const requests = new Requests<string>();
  const request = requests.open(() => assert.fail("answered"));
  assert.equal(requests.drop(request), true);
  assert.equal(requests.drop(request), false);
  assert.equal(requests.settle(request, "late"), false);
});

test("all that are open can be answered at once", () => {
  const requests = new Requests<string>();
  const answers: string[] = [];
  const first = requests.open((reply) => answers.push(`first ${reply}`));
  requests.open((reply) => answers.push(`second ${reply}`));
  const third = requests.open((reply) => answers.push(`third ${reply}`));
  requests.drop(third);
  assert.deepEqual([requests.isOpen(first), requests.isOpen(third)], [true, false]);
  requests.settleAll("closed");
  assert.deepEqual(answers, ["first closed", "second closed"]);
  assert.equal(requests.isOpen(first), false);
});

test("a place is used again, under another number", () => {
  const requests = new Requests<string>();
  const numbers = new Set<number>();
  let answered = 0;
  const open: number[] = [];
  for (let n = 0; n < 10_000; n++) {
    const number = requests.open(() => answered++);
    assert.ok(!numbers.has(number) && Number.isSafeInteger(number) && number > 0);
    numbers.add(number);
    open.push(number);
    if (open.length <= 10) continue;
    const gone = open.splice(n % 10, 1)[0] as number;
    assert.equal(requests.settle(gone, "x"), true);
    assert.equal(requests.isOpen(gone), false);
    assert.equal(requests.size, 10);
  }
  for (const number of numbers) requests.settle(number, "again");
  assert.equal(answered, 10_000);
});
