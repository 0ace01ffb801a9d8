// A child process that opens stores and reports their contents: one report for each folder it is
// sent. It may crash, because LMDB is native code; then the parent starts another one.

import { createHash } from "node:crypto";
import type { TaskId } from "@yardmaster/core";
import { headOf, put, settledOf } from "../../conformance/samples.js";
import { EmbeddedEngine } from "../embedded-engine.js";
import { StoreFault } from "../store-faults.js";
import { hasLargeBodies, sampleTasks } from "./sample-store.js";

/** Everything in a store, as names with digests, and the damage that the store named. */
export interface StoreReport {
  readonly held: Readonly<Record<string, string>>;
  readonly named: readonly string[];
  /** The message with which the store refused to open. */
  readonly refused?: string;
}

class Reading {
  readonly held: Record<string, string> = {};
  readonly named: string[] = [];

  hold(name: string, value: unknown): void {
    this.held[name] = createHash("sha1").update(JSON.stringify(value)).digest("base64").slice(0, 8);
  }

  /** Asks a question. Damage that the store names is noted, because it is not a silent loss. */
  async ask<Value>(name: string, question: Promise<Value>): Promise<Value | undefined> {
    try {
      return await question;
    } catch (error) {
      if (!(error instanceof StoreFault) || error.code !== "damaged") throw error;
      this.named.push(name, error.message);
      return undefined;
    }
  }
}

async function read(folder: string): Promise<StoreReport> {
  const reading = new Reading();
  const engine = new EmbeddedEngine({
    folder,
    isLocal: true,
    // Syncs are not needed: no test cuts the power here.
    durability: "memory",
    onDamage: (what) => reading.named.push(what),
  });
  try {
    const { epoch } = await engine.open();
    await engine.load((item) => {
      if (item.type === "task") reading.hold(`live ${item.task.head.id}`, item.task);
      else if (item.type === "end") reading.hold("end", item.lastTask >= sampleTasks);
      else reading.hold(`${item.type} ${JSON.stringify(Object.values(item)[1]).slice(0, 60)}`, item);
    });
    await readTasks(engine, reading);
    await writeSome(engine, epoch);
    await engine.close();
    return reading;
  } catch (error) {
    await engine.close().catch(() => {});
    if (!(error instanceof StoreFault) || error.code !== "damaged") throw error;
    return { held: {}, named: [], refused: error.message };
  }
}

async function readTasks(engine: EmbeddedEngine, reading: Reading): Promise<void> {
  for (let id = 1 as TaskId; id <= sampleTasks; id++) {
    const task = await reading.ask(`task ${id}`, engine.task(id as TaskId));
    if (task !== undefined) reading.hold(`task ${id}`, task);
    if (!hasLargeBodies(id)) continue;
    for (const part of ["payload", "result"] as const) {
      const body = await reading.ask(`${part} ${id}`, engine.body(id as TaskId, part));
      if (body !== undefined) reading.hold(`${part} ${id}`, Buffer.from(body.bytes ?? []).toString());
    }
  }
  const found = await engine.find({ limit: 2 * sampleTasks });
  for (const { head } of found.items) reading.hold(`found ${head.id}`, true);
}

/**
 * Frees and reuses pages, so that later reads see the result. Each load makes the store take the
 * batch over.
 */
async function writeSome(engine: EmbeddedEngine, epoch: number): Promise<void> {
  for (let number = 1; number <= 3; number++) {
    const id = sampleTasks + 100 * epoch + number;
    await engine.commit({ epoch, number, changes: [put(headOf(id)), put(settledOf(id, id))] });
    await engine.load(() => {});
  }
}

process.on("message", (folder: string) => {
  read(folder).then(
    (report) => process.send?.(report),
    (error: Error) => process.send?.({ held: {}, named: [], refused: undefined, failed: error.stack }),
  );
});
