// A sample store with records of every kind, made by the engine: waiting, running and settled
// tasks, with and without keys, with small and out-of-line bodies; queues, doors, memos, and a
// trimmed segment of history.

import type { Change, TaskId } from "@yardmaster/core";
import { bodyOf, headOf, keyOf, outOfLine, progressOf, put, settledOf } from "../../conformance/samples.js";
import { EmbeddedEngine } from "../embedded-engine.js";

export const sampleTasks = 1800;
const tasksEachBatch = 60;
/** One task in this many has large bodies, and one in this many has a key. */
const largeEvery = 75;
const keyEvery = 7;
/** Number of times that some records of every kind are replaced. */
const rounds = 9;

export function hasLargeBodies(id: number): boolean {
  return id % largeEvery === 0;
}

export function largeBodyOf(id: number, part: string) {
  return bodyOf(`${part} ${id} `.repeat(600 + (id % 5) * 2000));
}

/** `onTaken`: called whenever the store has taken over everything so far. */
export async function makeSampleStore(folder: string, onTaken: () => void = () => {}): Promise<void> {
  const engine = new EmbeddedEngine({ folder });
  const { epoch } = await engine.open();
  let number = 0;
  const commit = async (changes: readonly Change[]) => {
    number += 1;
    const outcome = await engine.commit({ epoch, number, changes });
    if (outcome.type !== "done") throw new Error(`a commit of the sample came to ${outcome.type}`);
  };
  const taken = async () => {
    await engine.load(() => {});
    onTaken();
  };
  await commit(others(0));
  let settled = 0;
  for (let first = 1; first <= sampleTasks; first += tasksEachBatch) {
    const ids = Array.from({ length: tasksEachBatch }, (_, index) => first + index);
    for (const id of ids.filter(hasLargeBodies)) {
      await engine.putBody(id as TaskId, "payload", largeBodyOf(id, "payload"));
      await engine.putBody(id as TaskId, "result", largeBodyOf(id, "result"));
    }
    await commit(ids.map((id) => put(sampleHead(id))));
    // A load makes the store take the heads over. Every second round their tasks settle only after
    // that, and are then stored separately and not in bundles.
    if (first % (2 * tasksEachBatch) === 1) await taken();
    const ended = ids.filter((id) => id % 3 === 0);
    const running = ids.filter((id) => id % 3 === 1);
    await commit([
      ...running.map((id) => put(progressOf(id, { worker: `udp/w${id % 9}` as never }))),
      ...ended.map((id) => put(sampleEnd(id, ++settled))),
    ]);
  }
  // Records of every kind are replaced, so that pages come to hold the same keys again.
  for (let round = 1; round <= rounds; round++) {
    const ids = Array.from({ length: sampleTasks }, (_, index) => index + 1);
    const running = ids.filter((id) => id % 3 === 1 && id % 5 === 0);
    const ended = ids.filter((id) => id % 3 === 0 && !isTrimmed(id) && id % 7 === 0);
    await commit([
      ...others(round),
      ...running.map((id) => put(progressOf(id, { worker: `udp/round-${round}` as never }))),
      ...ended.map((id) => put(sampleEnd(id, id / 3, round))),
    ]);
    await taken();
  }
  // So that some pages are free, and some records are on reused pages.
  await commit([{ kind: "history-trimmed", through: 0 }]);
  await engine.close();
}

/** True for a task whose segment was trimmed. */
export function isTrimmed(id: number): boolean {
  return id % 3 === 0 && id / 3 <= 256;
}

function sampleHead(id: number) {
  const key = id % keyEvery === 0 ? { key: `key ${id}`, fingerprint: "f" } : {};
  const large = hasLargeBodies(id) ? { payload: outOfLine(largeBodyOf(id, "payload")) } : {};
  return headOf(id, { queue: `q${id % 4}`, ...key, ...large });
}

function sampleEnd(id: number, settled: number, losses = 0) {
  const large = hasLargeBodies(id) ? { result: outOfLine(largeBodyOf(id, "result")) } : {};
  return settledOf(id, settled, { losses, ...large });
}

function others(round: number): Change[] {
  const numbers = Array.from({ length: 120 }, (_, index) => index);
  return [
    ...numbers.map(
      (each): Change => ({
        kind: "queue",
        queue: { name: `queue-${each}`, paused: (each + round) % 2 === 0, draining: false },
      }),
    ),
    ...numbers.map((each): Change => ({ kind: "key", key: keyOf(each + round, `old key ${each}`) })),
    ...numbers.map(
      (each): Change => ({
        kind: "memo",
        memo: {
          door: "pulse",
          name: `memo ${each}`,
          bytes: Buffer.alloc(50 * each, `memo ${each} ${round}`),
        },
      }),
    ),
    { kind: "door", door: { name: "udp", incarnation: 1, mark: 9 + round } },
  ];
}
