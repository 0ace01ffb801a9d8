import assert from "node:assert/strict";
import { test } from "node:test";
import { colourAt, contrast, mixed, othersIndex, palette, QueueColours, textOn } from "./queue-colours.js";

test("eight queues have eight colours, and the ninth the quiet one", () => {
  const colours = new QueueColours();
  const names = [
    "render",
    "thumbs",
    "emails",
    "sensors",
    "fit-models",
    "transcode",
    "nightly",
    "example_clock",
  ];
  const indexes = names.map((name) => colours.indexOf(name));
  assert.equal(new Set(indexes).size, palette.length);
  assert.equal(colours.indexOf("one more"), othersIndex);
  assert.deepEqual(
    names.map((name) => colours.indexOf(name)),
    indexes,
  );
});

test("a snapshot gives the same colours whatever came first, and a queue that is gone frees its own", () => {
  const [one, other] = [new QueueColours(), new QueueColours()];
  one.keep(["a", "b", "c"]);
  other.keep(["c", "a", "b"]);
  for (const name of ["a", "b", "c"]) assert.equal(one.indexOf(name), other.indexOf(name));
  const kept = one.indexOf("c");
  one.keep(["c"]);
  assert.equal(one.indexOf("c"), kept);
  for (let at = 0; at < 7; at += 1) assert.notEqual(one.indexOf(`new ${at}`), othersIndex);
});

test("if there are more queues than colours, the first of them, the busiest, get one", () => {
  const colours = new QueueColours();
  const idle = Array.from({ length: 300 }, (_, at) => `idle-${at}`);
  colours.keep(["render", "thumbs", ...idle]);
  assert.ok(colours.indexOf("render") < othersIndex && colours.indexOf("thumbs") < othersIndex);
  assert.equal(idle.filter((name) => colours.indexOf(name) < othersIndex).length, palette.length - 2);
});

test("a faded colour keeps a share of itself", () => {
  assert.equal(mixed("#ff8000", "#000000", 0.25), "#402000");
  assert.equal(mixed("#102030", "#ffffff", 1), "#102030");
});

test("each colour stands out from its panel, and text on it can be read", () => {
  for (let index = 0; index <= othersIndex; index += 1) {
    assert.ok(contrast(colourAt(index, true), "#141a1d") >= 2.995, `dark ${index}`);
    assert.ok(contrast(colourAt(index, false), "#fdfcfa") >= 2.995, `light ${index}`);
    for (const isDark of [true, false]) {
      const colour = colourAt(index, isDark);
      assert.ok(contrast(colour, textOn(colour)) >= 4.1, colour);
    }
  }
});
