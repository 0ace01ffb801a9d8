// A frame of the attempt stream in its wire form. A frame lists the names it uses, and its rows
// refer to them by index.

import type { Stall } from "../yard-clock.js";
import type { AttemptRow, BusyRow, Frame } from "./attempt-frames.js";

export interface FrameParts extends Frame {
  /** Once a second; undefined in the frames between. */
  readonly busy: readonly BusyRow[] | undefined;
  /** Since when `busy` counts. */
  readonly busyFrom: number;
  readonly stalls: readonly Stall[];
}

/** `shows`: true if the listener wants rows of this queue. */
export function frameJson(frame: FrameParts, shows: (queue: string) => boolean): string {
  const { from, to, began, ended, busy, stalls } = frame;
  const workers = new NameIndex();
  const queues = new NameIndex();
  const rows: string[] = [];
  for (const row of frame.rows) if (shows(row.queue)) rows.push(rowJson(row, from, workers, queues));
  const busyRows = busy
    ?.filter(({ queue }) => shows(queue))
    .map(
      ({ worker, queue, running, slotMs }) =>
        `[${workers.indexOf(worker)},${queues.indexOf(queue)},${running},${slotMs}]`,
    );
  const stallRows = stalls.map(({ at, ms }) => `[${at - from},${ms}]`);
  return (
    `{"from":${from},"to":${to},"workers":${workers.json()},"queues":${queues.json()},"rows":[${rows.join(",")}],` +
    `"busyFrom":${busyRows === undefined ? "null" : frame.busyFrom},"busy":${busyRows === undefined ? "null" : `[${busyRows.join(",")}]`},` +
    `"began":${began},"ended":${ended},"shown":${rows.length},"stalls":[${stallRows.join(",")}]}`
  );
}

/** The frame without what it says about other queues, such as sums over all of them. */
export function shownPart(frame: FrameParts, shows: (queue: string) => boolean): FrameParts {
  const rows = frame.rows.filter(({ queue }) => shows(queue));
  return {
    ...frame,
    rows,
    began: rows.filter(({ startedAt }) => startedAt >= frame.from).length,
    ended: rows.filter(({ endedAt }) => endedAt !== undefined).length,
    busy: undefined,
  };
}

function rowJson(row: AttemptRow, from: number, workers: NameIndex, queues: NameIndex): string {
  const { task, attempt, worker, queue, startedAt, endedAt, outcome, reason, tries } = row;
  const end = endedAt === undefined ? "null" : endedAt - from;
  const why = reason === undefined ? "null" : JSON.stringify(reason);
  return `[${task},${attempt},${workers.indexOf(worker)},${queues.indexOf(queue)},${startedAt - from},${end},"${outcome}",${why},${tries}]`;
}

/** Numbers names in the order of their first use. */
class NameIndex {
  readonly #indexes = new Map<string, number>();

  indexOf(name: string): number {
    let index = this.#indexes.get(name);
    if (index === undefined) {
      index = this.#indexes.size;
      this.#indexes.set(name, index);
    }
    return index;
  }

  json(): string {
    return JSON.stringify([...this.#indexes.keys()]);
  }
}
