// The store's own record: its owner's epoch, its last batch, the greatest numbers used, and up to
// where the index in the file is complete. It is written with every commit.

import type { LaneMarks } from "../lane-marks.js";
import type { RecordReader } from "../records/index.js";
import type { StoreFile } from "./store-file.js";

export interface StoreState {
  /** The epoch of the present owner; 0 before the first. */
  epoch: number;
  /** The last batch of this epoch that was committed. */
  lastBatch: number;
  /**
   * The greatest task id and, by lane, the greatest position in history ever committed, evicted or
   * not.
   */
  lastTask: number;
  lastSettled: number[];
  /** The index in the file covers tasks and positions in history up to these. */
  indexedTask: number;
  indexedSettled: LaneMarks;
}

const stateKey = Buffer.from("state");

export function readState(file: StoreFile, reader: RecordReader): StoreState {
  const bytes = file.state.read(stateKey);
  if (bytes === undefined) {
    return {
      epoch: 0,
      lastBatch: 0,
      lastTask: 0,
      lastSettled: [0],
      indexedTask: 0,
      indexedSettled: [0],
    };
  }
  reader.begin(bytes, 0, bytes.length);
  const state = {
    epoch: reader.number(),
    lastBatch: reader.number(),
    lastTask: reader.number(),
    lastSettled: [reader.number()],
    indexedTask: reader.number(),
    indexedSettled: [reader.number()],
  };
  // More lanes of history, if there are any.
  if (reader.at < reader.end) {
    for (let left = reader.number(); left > 0; left--) {
      state.lastSettled.push(reader.number());
      state.indexedSettled.push(reader.number());
    }
  }
  reader.finish();
  return state;
}

/** Inside a transaction. */
export function writeState(file: StoreFile, state: StoreState): void {
  file.state.put(stateKey, (to) => {
    to.number(state.epoch);
    to.number(state.lastBatch);
    to.number(state.lastTask);
    const { lastSettled, indexedSettled } = state;
    to.number(lastSettled[0] ?? 0);
    to.number(state.indexedTask);
    to.number(indexedSettled[0] ?? 0);
    const lanes = Math.max(lastSettled.length, indexedSettled.length);
    if (lanes <= 1) return;
    to.number(lanes - 1);
    for (let lane = 1; lane < lanes; lane++) {
      to.number(lastSettled[lane] ?? 0);
      to.number(indexedSettled[lane] ?? 0);
    }
  });
}
