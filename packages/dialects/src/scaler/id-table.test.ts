import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { areBytes, hashOf, type Identified, IdTable } from "./id-table.js";

const secret = { first: 0x03020100, second: 0x07060504 };

class Entry implements Identified<Entry> {
  readonly id: Buffer;
  readonly idHash: number;
  nextOfHash: Entry | undefined = undefined;

  constructor(id: Buffer, idHash: number) {
    this.id = id;
    this.idHash = idHash;
  }

  hasId(bytes: Uint8Array, from: number, to: number): boolean {
    return this.id.length === to - from && areBytes(this.id, 0, bytes, from, to);
  }
}

test("the hash is of the bytes alone, wherever they lie, and of the secret", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(8), (id, before) => {
      const bytes = Buffer.concat([Buffer.alloc(before, 1), id, Buffer.of(9)]);
      const hash = hashOf(secret, id, 0, id.length);
      assert.equal(hashOf(secret, bytes, before, before + id.length), hash);
    }),
  );
  const other = { first: 1, second: 2 };
  const hashes = (by: typeof secret) =>
    Array.from({ length: 1_000 }, (_, index) => hashOf(by, Buffer.from(`task ${index}`), 0, 8));
  assert.notDeepEqual(hashes(secret), hashes(other));
  assert.ok(new Set(hashes(secret).map((hash) => hash & 0xffff)).size > 980, "spread over the places");
});

test("bytes that differ in places that cancel out elsewhere do not meet", () => {
  // Flips the highest bit of one word, and the bits of the next word that would cancel it in a
  // simpler hash.
  const ids = Array.from({ length: 256 }, (_, bits) => {
    const id = Buffer.alloc(32);
    for (let word = 0; word < 8; word++) if (bits & (1 << word)) id[word * 4 + 3] = 0x80;
    return id;
  });
  assert.ok(new Set(ids.map((id) => hashOf(secret, id, 0, id.length))).size >= 255);
});

test("a table holds what was added and not deleted", () => {
  const id = fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes));
  const steps = fc.array(fc.tuple(fc.constantFrom("add", "delete"), id), { maxLength: 200 });
  fc.assert(
    // All ids in one slot, or spread.
    fc.property(steps, fc.boolean(), (list, isCrowded) => {
      const table = new IdTable<Entry>();
      const model = new Map<string, Entry>();
      const hash = (bytes: Buffer) => (isCrowded ? 1 : hashOf(secret, bytes, 0, bytes.length));
      const find = (bytes: Buffer) => table.get(hash(bytes), Buffer.concat([bytes, bytes]), 0, bytes.length);
      for (const [what, bytes] of list) {
        const name = bytes.toString("hex");
        const known = find(bytes);
        assert.equal(known, model.get(name));
        if (what === "add" && known === undefined) {
          const entry = new Entry(bytes, hash(bytes));
          table.add(entry);
          model.set(name, entry);
        } else if (what === "delete" && known !== undefined) {
          assert.ok(table.delete(known));
          assert.ok(!table.delete(known));
          model.delete(name);
        }
        assert.equal(table.size, model.size);
      }
      for (const entry of model.values()) assert.equal(find(entry.id), entry);
      table.clear();
      assert.equal(table.size, 0);
    }),
  );
});
