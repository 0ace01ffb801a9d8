// Whatever is added and removed, the trie agrees with a list of subscriptions that is searched
// completely.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PrefixTrie } from "./prefix-trie.js";

// A small alphabet, so that prefixes share beginnings.
const word = fc.array(fc.constantFrom(0x61, 0x62, 0xff), { maxLength: 6 }).map((bytes) => Buffer.from(bytes));
const change = fc.record({ isAdded: fc.boolean(), prefix: word, owner: fc.nat(3) });

test("matches are those of a plain search", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), fc.array(word, { maxLength: 10 }), (changes, topics) => {
      const trie = new PrefixTrie<number>();
      const list = new Map<string, { prefix: Buffer; owner: number }>();
      for (const { isAdded, prefix, owner } of changes) {
        const key = `${owner}:${prefix.toString("hex")}`;
        if (isAdded) {
          trie.add(prefix, owner);
          list.set(key, { prefix, owner });
        } else {
          trie.remove(prefix, owner);
          list.delete(key);
        }
      }
      for (const topic of topics) {
        const found: string[] = [];
        trie.match(topic, (owners) => found.push(...[...owners].map(String)));
        const expected = [...list.values()]
          .filter(({ prefix }) => topic.subarray(0, prefix.length).equals(prefix))
          .map(({ owner }) => String(owner));
        assert.deepEqual(found.sort(), expected.sort());
      }
      for (const { prefix, owner } of list.values()) trie.remove(prefix, owner);
      assert.ok(trie.isEmpty, "nothing is left when everything was removed");
    }),
    { numRuns: 2_000 },
  );
});

test("an empty prefix matches the empty topic and every other", () => {
  const trie = new PrefixTrie<string>();
  trie.add(Buffer.alloc(0), "all");
  for (const topic of ["", "a", "abc"]) {
    let count = 0;
    trie.match(Buffer.from(topic), () => count++);
    assert.equal(count, 1);
  }
});

test("a topic is walked once, however many subscriptions there are", () => {
  const trie = new PrefixTrie<number>();
  for (let index = 0; index < 100_000; index++) trie.add(Buffer.from(`topic.${index}.`), index);
  let visits = 0;
  trie.match(Buffer.from("topic.77777.price"), () => visits++);
  assert.equal(visits, 1);
});
