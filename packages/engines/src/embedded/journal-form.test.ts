import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { entryHeaderBytes, entryUnit, readJournal, sealEntry } from "./journal-form.js";

const stored = { epoch: 1, number: 0 };

function entry(number: number, size: number, epoch = 1): Buffer {
  const bytes = Buffer.alloc(Math.ceil((entryHeaderBytes + size) / entryUnit) * entryUnit);
  bytes.fill(number, entryHeaderBytes, entryHeaderBytes + size);
  assert.equal(sealEntry(bytes, entryHeaderBytes + size, epoch, number), bytes.length);
  return bytes;
}

const sizes = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 6 });

function file(each: readonly number[]): Buffer {
  return Buffer.concat(each.map((size, index) => entry(index + 1, size)));
}

describe("the journal's form", () => {
  test("entries come back as they were written", () => {
    fc.assert(
      fc.property(sizes, (each) => {
        const { entries, damaged } = readJournal(file(each), stored);
        assert.deepEqual(damaged, []);
        assert.deepEqual(
          entries.map(({ number, bytes, start, end }) => [number, bytes.subarray(start, end)]),
          each.map((size, index) => [index + 1, Buffer.alloc(size, index + 1)]),
        );
      }),
    );
  });

  test("a file cut anywhere ends with the last whole entry, and nothing is damaged", () => {
    fc.assert(
      fc.property(sizes, fc.nat(), (each, where) => {
        const whole = file(each);
        const cut = whole.subarray(0, where % whole.length);
        const { entries, damaged } = readJournal(cut, stored);
        assert.deepEqual(damaged, []);
        let end = 0;
        let count = 0;
        for (const size of each) {
          if (end + entryHeaderBytes + size > cut.length) break;
          end += entry(1, size).length;
          count += 1;
        }
        assert.equal(entries.length, count);
      }),
    );
  });

  test("a flipped byte in any entry but the last is damage, and the other entries are read", () => {
    fc.assert(
      fc.property(sizes, fc.nat(), (each, where) => {
        fc.pre(each.length > 1);
        const bytes = file(each);
        const last = entry(1, each.at(-1) ?? 0).length;
        const place = where % (bytes.length - last);
        bytes[place] = (bytes[place] as number) ^ 1;
        let at = 0;
        const hit = each.findIndex((size) => {
          const begin = at;
          at += entry(1, size).length;
          return place >= begin && place < begin + entryHeaderBytes + size;
        });
        // Padding between two entries.
        const isDamage = hit >= 0;
        const { entries, damaged } = readJournal(bytes, stored);
        assert.equal(damaged.length > 0, isDamage);
        assert.deepEqual(
          entries.map(({ number }) => number),
          each.flatMap((_, index) => (index === hit ? [] : [index + 1])),
        );
      }),
    );
  });

  test("what an earlier round left behind is neither read nor missed", () => {
    const before = Buffer.concat([1, 2, 3, 4].map((number) => entry(number, 700)));
    const now = Buffer.concat([entry(9, 300), entry(10, 40)]);
    now.copy(before);
    const numbers = (bytes: Buffer) => {
      const { entries, damaged } = readJournal(bytes, { epoch: 1, number: 8 });
      assert.deepEqual(damaged, []);
      return entries.map(({ number }) => number);
    };
    assert.deepEqual(numbers(before), [9, 10]);
    // The first entry of the new round is torn.
    before[entryHeaderBytes] = 0;
    before.copy(before, entryUnit, entryUnit * 3, entryUnit * 4);
    assert.deepEqual(
      numbers(before).filter((number) => number > 8),
      [],
    );
  });

  test("an entry of another epoch does not follow", () => {
    const { entries } = readJournal(Buffer.concat([entry(1, 10), entry(2, 10, 2)]), stored);
    assert.equal(entries.length, 1);
  });
});
