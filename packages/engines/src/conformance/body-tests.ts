// Conformance: bodies, inside their record and out of line.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { plain, type Take } from "./owner.js";
import { bodyOf, headOf, outOfLine, progressOf, put, settledOf } from "./samples.js";

export function bodyTests(take: Take): void {
  test("an inline body is read from its record", async () => {
    const owner = await take();
    await owner.commit(put(headOf(1, { payload: bodyOf("in") })), put(headOf(2, { payload: bodyOf("") })));
    await owner.commit(put(progressOf(1, { state: "done", result: bodyOf("out") })));
    const next = await take();
    assert.deepEqual(await next.body(1, "payload"), plain(bodyOf("in")));
    assert.deepEqual(await next.body(1, "result"), plain(bodyOf("out")));
    assert.deepEqual(await next.body(2, "payload"), plain(bodyOf("")));
    assert.equal(await next.engine.body(2 as TaskId, "result"), undefined);
    assert.equal(await next.engine.body(3 as TaskId, "payload"), undefined);
  });

  test("a body put out of line is there once a record refers to it, and after a crash", async () => {
    const [payload, result] = [bodyOf("large".repeat(50_000)), bodyOf("answer".repeat(50_000))];
    const owner = await take();
    await owner.engine.putBody(1 as TaskId, "payload", payload);
    assert.equal(await owner.engine.body(1 as TaskId, "payload"), undefined);
    await owner.commit(put(headOf(1, { payload: outOfLine(payload) })));
    await owner.engine.putBody(1 as TaskId, "result", result);
    assert.equal(await owner.engine.body(1 as TaskId, "result"), undefined);
    await owner.commit(put(progressOf(1, { state: "done", result: outOfLine(result) })));
    for (const reader of [owner, await take()]) {
      assert.deepEqual(await reader.body(1, "payload"), plain(payload));
      assert.deepEqual(await reader.body(1, "result"), plain(result));
      assert.deepEqual(
        plain((await reader.engine.task(1 as TaskId))?.head.payload),
        plain(outOfLine(payload)),
      );
    }
  });

  test("a body nobody refers to may go at the next opening; the others stay", async () => {
    const owner = await take();
    await owner.engine.putBody(1 as TaskId, "payload", bodyOf("kept"));
    await owner.engine.putBody(1 as TaskId, "result", bodyOf("rubbish"));
    await owner.engine.putBody(2 as TaskId, "payload", bodyOf("rubbish"));
    await owner.commit(put(headOf(1, { payload: outOfLine(bodyOf("kept")) })));
    const next = await take();
    assert.deepEqual(await next.body(1, "payload"), plain(bodyOf("kept")));
    assert.equal(await next.engine.body(1 as TaskId, "result"), undefined);
    await next.engine.putBody(2 as TaskId, "payload", bodyOf("anew"));
    await next.commit(put(headOf(2, { payload: outOfLine(bodyOf("anew")) })));
    assert.deepEqual(await next.body(2, "payload"), plain(bodyOf("anew")));
  });

  test("a body that was dropped leaves nothing to the next one, and may be dropped twice", async () => {
    const owner = await take();
    const body = bodyOf("x");
    await owner.engine.putBody(1 as TaskId, "payload", bodyOf("dropped".repeat(50_000)));
    await owner.engine.dropBody(1 as TaskId, "payload");
    await owner.engine.dropBody(1 as TaskId, "payload");
    await owner.engine.dropBody(2 as TaskId, "result");
    await owner.engine.putBody(1 as TaskId, "payload", body);
    await owner.commit(put(headOf(1, { payload: outOfLine(body) })));
    for (const reader of [owner, await take()])
      assert.deepEqual(await reader.body(1, "payload"), plain(body));
  });

  test("bodies put out of line go with their task when it is trimmed", async () => {
    const owner = await take();
    await owner.engine.putBody(1 as TaskId, "payload", bodyOf("large"));
    await owner.engine.putBody(1 as TaskId, "result", bodyOf("larger"));
    await owner.commit(put(headOf(1, { payload: outOfLine(bodyOf("large")) })));
    await owner.commit(put(settledOf(1, 1, { result: outOfLine(bodyOf("larger")) })));
    await owner.commit({ kind: "history-trimmed", through: 0 });
    for (const reader of [owner, await take()]) {
      assert.equal(await reader.engine.body(1 as TaskId, "payload"), undefined);
      assert.equal(await reader.engine.body(1 as TaskId, "result"), undefined);
    }
  });
}
