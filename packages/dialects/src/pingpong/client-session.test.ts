import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "../parts.js";
import { PingpongClientSession } from "./client-session.js";
import type { ClientAnswer } from "./messages.js";

const answerTo = (correlation: readonly Buffer[]): ClientAnswer => ({
  type: "result",
  correlation,
  parts: [],
});

test("each answer reaches whoever asked, once, in any order", () => {
  const session = new PingpongClientSession<string>();
  const first = session.ask([Buffer.from("a")], "first");
  const second = session.ask([Buffer.from("b")], "second");
  assert.deepEqual(partsOf(first.payload).map(String), ["a"]);
  assert.notDeepEqual(first.correlation, second.correlation);
  assert.equal(session.take(answerTo(second.correlation)), "second");
  assert.equal(session.take(answerTo(second.correlation)), undefined);
  assert.equal(session.take(answerTo(first.correlation)), "first");
  assert.equal(session.waiting, 0);
});

test("an answer that nobody asked for finds nobody", () => {
  const session = new PingpongClientSession<string>();
  session.ask([], "asker");
  assert.equal(session.take(answerTo([])), undefined);
  assert.equal(session.take(answerTo([Buffer.from("zz")])), undefined);
  assert.equal(session.waiting, 1);
});

test("when the connection is lost everybody is told, and late answers find nobody", () => {
  const session = new PingpongClientSession<string>();
  const { correlation } = session.ask([], "one");
  session.ask([], "two");
  assert.deepEqual(session.takeAll(), ["one", "two"]);
  assert.equal(session.take(answerTo(correlation)), undefined);
  // A correlation is never reused; otherwise a late answer would be taken for the next one.
  assert.notDeepEqual(session.ask([], "three").correlation, correlation);
});
