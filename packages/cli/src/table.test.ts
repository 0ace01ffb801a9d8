import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Column, tableLines } from "./table.js";
import { cut, printable, shownWidth } from "./terminal.js";

type Row = readonly [string, string, string];

const columns: readonly Column<Row>[] = [
  { title: "ID", value: ([id]) => id, align: "right" },
  { title: "NAME", value: ([, name]) => name, isElastic: true },
  { title: "SAYS", value: ([, , says]) => says, isElastic: true },
];

describe("a table", () => {
  test("is as wide as its content, if there is room", () => {
    assert.deepEqual(
      tableLines(
        [
          ["1", "ann", "all is well"],
          ["12", "b", ""],
        ],
        columns,
        80,
      ),
      ["ID  NAME  SAYS", " 1  ann   all is well", "12  b"],
    );
  });

  test("narrows the widest column that may be narrowed", () => {
    assert.deepEqual(tableLines([["123456", "ann", "a long story of how it went"]], columns, 28), [
      "    ID  NAME  SAYS",
      "123456  ann   a long story …",
    ]);
  });

  test("never is wider than the terminal, whatever is in it", () => {
    const anything = fc.oneof(fc.string(), fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anything, anything, anything)),
        fc.integer({ min: 10, max: 120 }),
        (rows, width) => {
          for (const line of tableLines(rows, columns, width)) assert.ok(shownWidth(line) <= width, line);
        },
      ),
    );
  });
});

describe("what others wrote", () => {
  test("cannot move the cursor, change colours or begin a line", () => {
    assert.equal(printable("a\x1b[2Jb\nc\td\u009b\u202ee"), "a\\u001b[2Jb⏎c d\\u009b\\u202ee");
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.doesNotMatch(printable(text), /[\p{Cc}\p{Cf}]/u);
      }),
    );
  });

  test("is cut to columns, wide signs counted as two", () => {
    assert.equal(cut("abcdef", 4), "abc…");
    assert.equal(cut("日本語の列", 6), "日本…");
    assert.equal(shownWidth("日本"), 4);
    assert.equal(cut("x", 0), "");
  });
});
