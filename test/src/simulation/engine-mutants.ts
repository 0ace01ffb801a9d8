// Ways to break the embedded engine that its own simulator must notice.

import type { Change } from "./mutate.js";

export interface EngineMutant extends Change {
  readonly name: string;
}

export const engineMutants: readonly EngineMutant[] = [
  {
    name: "an entry of the journal is not synced",
    in: "engines:Journal",
    find: "this.#disk.open(path, durability, this.#fileBytes)",
    replace: 'this.#disk.open(path, "memory", this.#fileBytes)',
  },
  {
    name: "the epoch is not compared",
    in: "engines:Store.#transaction",
    find: "epoch !== this.#epoch",
    replace: "false",
  },
  {
    name: "a journal that was taken over counts as one's own",
    in: "engines:Journal.isOurs",
    find: "this.#files.every($each)",
    replace: "true",
  },
  {
    name: "a file of the journal is begun again before the store has it",
    in: "engines:Journal.#change",
    find: "this.#active.last > this.#stored",
    replace: "false",
  },
  {
    name: "a trim goes one segment too far",
    in: "engines:TaskStore.trim",
    find: "this.segments.trimThrough(through)",
    replace: "this.segments.trimThrough(through + 1)",
  },
  {
    name: "a batch that the store has is applied again",
    in: "engines:batchesBeyond",
    find: "entry.number > stored.number",
    replace: "entry.number >= stored.number",
  },
  {
    name: "the journal's last batch is not applied again",
    in: "engines:batchesBeyond",
    find: "batches.push(entry)",
    replace: "entry !== entries.at(-1) && batches.push(entry)",
  },
  {
    name: "the checksum of an entry is not compared",
    in: "engines:isWhole",
    find: "bytes.readUInt32LE($where) === checksumOf(bytes, start, $end)",
    replace: "true",
  },
  {
    name: "the sum of a tree is not compared",
    in: "engines:compareSums",
    find: "found.get(name) !== sum",
    replace: "false",
  },
  {
    name: "a replaced record stays in the sum",
    in: "engines:Tree.#store",
    find: "this.#add(-$hash)",
    replace: "undefined",
  },
  {
    name: "a removed record stays in the sum",
    in: "engines:Tree.remove",
    find: "this.#add(-$hash)",
    replace: "undefined",
  },
  {
    name: "a transaction does not write the sums",
    in: "engines:transact",
    find: "isChanged && $isThere",
    replace: "false",
  },
  {
    name: "a task settles ahead over an earlier trim",
    in: "engines:TaskStore.finish",
    find: "historySegmentOf(record.settled) <= trimmed",
    replace: "false",
  },
];
