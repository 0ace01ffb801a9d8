// The last places in history, one for each lane. Nearly every store has one lane only.

import { historyLaneOf, historySegmentOf } from "@yardmaster/core";

/** By lane; a lane that was never used has no number, or 0. */
export type LaneMarks = readonly number[];

/** True if this place is beyond the mark of its lane. */
export function isBeyond(marks: LaneMarks, settled: number): boolean {
  return settled > (marks[laneOf(settled)] ?? 0);
}

/** Moves the mark of this place's lane up to it. */
export function raise(marks: number[], settled: number): void {
  if (settled === 0 || !isBeyond(marks, settled)) return;
  const lane = laneOf(settled);
  while (marks.length < lane) marks.push(0);
  marks[lane] = settled;
}

/** The end of a load. */
export function lastPlaces(marks: LaneMarks): { lastSettled: number; lanes?: readonly number[] } {
  const lastSettled = marks[0] ?? 0;
  return marks.length > 1 ? { lastSettled, lanes: marks } : { lastSettled };
}

function laneOf(settled: number): number {
  return historyLaneOf(historySegmentOf(settled));
}
