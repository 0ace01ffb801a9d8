// The durable engines against the memory engine: the same random history with restarts, read after
// every commit. Reads come while batches are in the tail, on their way to the store, and in it.
// Bodies are of all sizes, and tasks have dependencies, groups, schedules and lanes of history.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Body, Change, TaskId } from "@yardmaster/core";
import fc from "fast-check";
import { idsInUse, queries, type Step, steps } from "./conformance/change-lists.js";
import { type EngineSite, Owner, plain } from "./conformance/owner.js";
import { bodyOf, headOf, outOfLine, put, settledOf } from "./conformance/samples.js";
import { EmbeddedEngine, type EmbeddedEngineOptions } from "./embedded/embedded-engine.js";
import type { Engine, TaskQuery } from "./engine.js";
import { MemoryEngine } from "./memory/memory-engine.js";
import { MemoryStore } from "./memory/memory-store.js";
import { TestServer, withoutPostgres } from "./postgres/testing/server.js";

const names = { doors: ["http", "udp"], memos: ["k1", "k2", "64"] };

/** The same owners on several stores. */
class Owners {
  readonly #sites: readonly EngineSite[];
  #owners: readonly Owner[] = [];

  constructor(...sites: EngineSite[]) {
    this.#sites = sites;
  }

  /** Ends the owners in order, or like a crash, and begins the next. */
  async restart(isClean: boolean): Promise<void> {
    if (isClean) for (const { engine } of this.#owners) await engine.close();
    const owners: Owner[] = [];
    for (const site of this.#sites) owners.push(await Owner.take(site));
    this.#owners = owners;
  }

  async commit(changes: readonly Change[]): Promise<void> {
    for (const owner of this.#owners) {
      const stored: Change[] = [];
      for (const change of changes) stored.push(await putBodyOf(owner.engine, enlarged(change)));
      await owner.commit(...stored);
    }
  }

  /** All answer as the first one does. */
  async compare(what: string, read: (owner: Owner) => Promise<unknown>): Promise<void> {
    const [first, ...others] = this.#owners as readonly [Owner, ...Owner[]];
    const expected = await read(first);
    for (const other of others)
      assert.deepEqual(await read(other), expected, `${other.engine.name}: ${what}`);
  }

  /** As `compare`, of tasks: an engine may leave out the bytes of a large body. */
  compareTasks(what: string, read: (owner: Owner) => Promise<unknown>): Promise<void> {
    return this.compare(what, async (owner) => withoutLargeBytes(plain(await read(owner))));
  }

  async compareAll(someQueries: readonly TaskQuery[]): Promise<void> {
    for (const id of idsInUse) {
      await this.compareTasks(`task ${id}`, (owner) => owner.task(id));
      await this.compare(`payload of ${id}`, (owner) => owner.body(id, "payload"));
      await this.compare(`result of ${id}`, (owner) => owner.body(id, "result"));
    }
    for (const door of names.doors) {
      for (const name of names.memos) {
        const read = async ({ engine }: Owner) => plain(await engine.memo(door, name));
        await this.compare(`memo ${door} ${name}`, read);
      }
    }
    for (const query of someQueries) {
      await this.compareTasks(JSON.stringify(query), (owner) => owner.findAll(query));
    }
  }
}

/** Sizes above what engines keep in line, below and above a piece of a body. By task. */
const largeSizes = new Map([
  [3, 4097],
  [65, 65_000],
  [256, 200_001],
]);

/** Some tasks have a large payload or result where others have this one. */
function enlarged(change: Change): Change {
  if (change.kind === "head") {
    const { id, payload } = change.head;
    return { ...change, head: { ...change.head, payload: largeIf(id, payload) } };
  }
  if (change.kind !== "progress" || change.progress.result === undefined) return change;
  const { id, result } = change.progress;
  return { ...change, progress: { ...change.progress, result: largeIf(id, result) } };
}

function largeIf(task: TaskId, body: Body): Body {
  const size = largeSizes.get(task);
  return size === undefined || body.size !== 3 ? body : bodyOf(`${task} `.repeat(size).slice(0, size));
}

/** Puts a body that is too large for its record, and returns the change that refers to it. */
async function putBodyOf(engine: Engine, change: Change): Promise<Change> {
  if (change.kind === "head" && change.head.payload.size > engine.inlineBytesMax) {
    await engine.putBody(change.head.id, "payload", change.head.payload);
    return { ...change, head: { ...change.head, payload: outOfLine(change.head.payload) } };
  }
  const result = change.kind === "progress" ? change.progress.result : undefined;
  if (change.kind !== "progress" || result === undefined || result.size <= engine.inlineBytesMax)
    return change;
  await engine.putBody(change.progress.id, "result", result);
  return { ...change, progress: { ...change.progress, result: outOfLine(result) } };
}

function withoutLargeBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLargeBytes);
  if (typeof value !== "object" || value === null) return value;
  const isLarge = "mediaType" in value && "size" in value && Number(value.size) > 4096;
  const fields = Object.entries(value).filter(([name]) => !(isLarge && name === "bytes"));
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutLargeBytes(field)]));
}

/** A store in memory, which is expected to be right. */
function memorySite(): EngineSite {
  const store = new MemoryStore();
  return { open: async () => new MemoryEngine(store), destroy: async () => {} };
}

async function embeddedSite(options: Omit<EmbeddedEngineOptions, "folder">): Promise<EngineSite> {
  const folder = await mkdtemp(join(tmpdir(), "yard-two-"));
  return {
    open: async () => new EmbeddedEngine({ folder, ...options }),
    destroy: () => rm(folder, { recursive: true }),
  };
}

async function runHistory(
  sites: readonly EngineSite[],
  someSteps: readonly Step[],
  someQueries: readonly TaskQuery[],
): Promise<void> {
  const opened: Engine[] = [];
  const noted = sites.map(({ open, destroy }) => ({
    open: async () => {
      const engine = await open();
      opened.push(engine);
      return engine;
    },
    destroy,
  }));
  const owners = new Owners(memorySite(), ...noted);
  try {
    await owners.restart(false);
    let batch: Change[] = [];
    for (const { change, next } of someSteps) {
      batch.push(change);
      if (next === "more") continue;
      await owners.commit(batch);
      batch = [];
      await owners.compareAll(someQueries);
      if (next === "commit") continue;
      await owners.restart(next === "commit-twice");
      await owners.compareTasks("load", (owner) => owner.load());
    }
    await owners.compareAll(someQueries);
  } finally {
    for (const engine of opened) await engine.close();
    for (const { destroy } of sites) await destroy();
  }
}

async function compareEngines(runs: number, sites: () => Promise<readonly EngineSite[]>): Promise<void> {
  const property = fc.asyncProperty(steps, queries, async (someSteps, someQueries) =>
    runHistory(await sites(), someSteps, someQueries),
  );
  await fc.assert(property, { numRuns: runs });
}

const plainly = { isLocal: true, durability: "memory" } as const;
const variants = [
  { name: "batches stay in the tail", runs: 16, options: { ...plainly, gatherBytes: 2 ** 30 } },
  { name: "every batch goes to the store at once", runs: 12, options: { ...plainly, gatherBytes: 0 } },
  { name: "the store has its own thread", runs: 2, options: {} },
];

for (const { name, runs, options } of variants) {
  test(`both engines answer alike at every moment: ${name}`, () =>
    compareEngines(runs, async () => [await embeddedSite(options)]));
}

test("a task that is put again in the batch of its trim keeps its new body", async () => {
  const changes: Change[] = [
    put(headOf(256, { payload: bodyOf(""), key: "k1" })),
    put(settledOf(256, 11)),
    { kind: "history-trimmed", through: 0 },
    // Becomes a large one.
    put(headOf(256, { payload: bodyOf("new") })),
  ];
  const next = (index: number) => (index === changes.length - 1 ? "new-owner" : "more");
  const someSteps = changes.map((change, index): Step => ({ change, next: next(index) }));
  for (const { options } of variants) await runHistory([await embeddedSite(options)], someSteps, []);
});

describe("all three engines answer alike at every moment", { skip: withoutPostgres }, () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start({ fsync: "off" });
  });
  after(() => server.destroy());

  const embedded = () => embeddedSite({ ...plainly, gatherBytes: 0 });
  test("batches are folded at once", () =>
    compareEngines(3, async () => [await embedded(), await server.site({ isLocal: true })]));
  test("batches gather, and a thread folds them", () =>
    compareEngines(1, async () => [await embedded(), await server.site()]));
});
