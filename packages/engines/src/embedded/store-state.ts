// What the store knows of itself: who owns it, how far its batches and numbers have come, and up to where the index in
// the file is whole. One record, written with every commit.

import type { RecordReader } from "../records/index.js";
import type { StoreFile } from "./store-file.js";

export interface StoreState {
  /** Of the present owner; 0 before the first. */
  epoch: number;
  /** The last batch of this epoch that was committed. */
  lastBatch: number;
  /** The greatest id of a head and the greatest place in history ever committed, trimmed or not. */
  lastTask: number;
  lastSettled: number;
  /** The index in the file knows the tasks and the places in history up to these. */
  indexedTask: number;
  indexedSettled: number;
}

const stateKey = Buffer.from("state");

export function readState(file: StoreFile, reader: RecordReader): StoreState {
  const bytes = file.state.read(stateKey);
  if (bytes === undefined) {
    return {
      epoch: 0,
      lastBatch: 0,
      lastTask: 0,
      lastSettled: 0,
      indexedTask: 0,
      indexedSettled: 0,
    };
  }
  reader.begin(bytes, 0, bytes.length);
  const state = {
    epoch: reader.number(),
    lastBatch: reader.number(),
    lastTask: reader.number(),
    lastSettled: reader.number(),
    indexedTask: reader.number(),
    indexedSettled: reader.number(),
  };
  reader.finish();
  return state;
}

/** Inside a transaction. */
export function writeState(file: StoreFile, state: StoreState): void {
  file.state.put(stateKey, (to) => {
    to.number(state.epoch);
    to.number(state.lastBatch);
    to.number(state.lastTask);
    to.number(state.lastSettled);
    to.number(state.indexedTask);
    to.number(state.indexedSettled);
  });
}
