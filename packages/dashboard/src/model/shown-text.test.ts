import assert from "node:assert/strict";
import { test } from "node:test";
import { shortened, shownBlock, shownLine } from "./shown-text.js";

test("characters that move or hide text are shown", () => {
  assert.equal(shownLine("a\u202eb\u0000c\nd\u200be"), "a⟨202E⟩b␀c␊d⟨200B⟩e");
  assert.equal(shownLine("<b>&amp;</b>"), "<b>&amp;</b>");
  assert.equal(shownBlock("one\r\ntwo\tthree\u0007\u2066"), "one\ntwo\tthree␇⟨2066⟩");
  assert.equal(shownLine("ünï–😀"), "ünï–😀");
});

test("joiners stay where words and emoji are written with them, and are shown elsewhere", () => {
  assert.equal(shownLine("می\u200cخواهم"), "می\u200cخواهم");
  assert.equal(shownLine("क्\u200dष"), "क्\u200dष");
  assert.equal(shownBlock("👩\u200d👧 boom"), "👩\u200d👧 boom");
  assert.equal(shownLine("pay\u200dpal\u200c \u200dx👩\u200d"), "pay⟨200D⟩pal⟨200C⟩ ⟨200D⟩x👩⟨200D⟩");
});

test("long text is cut with a sign", () => {
  assert.equal(shortened("abcdef", 4), "abc…");
  assert.equal(shortened("abcd", 4), "abcd");
});
