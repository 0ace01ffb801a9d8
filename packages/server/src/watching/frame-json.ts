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
  const workers = new Places();
  const queues = new Places();
  const rows: string[] = [];
  for (const row of frame.rows) if (shows(row.queue)) rows.push(rowJson(row, from, workers, queues));
  const busyRows = busy
    ?.filter(({ queue }) => shows(queue))
    .map(
      ({ worker, queue, running, slotMs }) =>
        `[${workers.of(worker)},${queues.of(queue)},${running},${slotMs}]`,
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

function rowJson(row: AttemptRow, from: number, workers: Places, queues: Places): string {
  const { task, attempt, worker, queue, startedAt, endedAt, outcome, reason, tries } = row;
  const end = endedAt === undefined ? "null" : endedAt - from;
  const why = reason === undefined ? "null" : JSON.stringify(reason);
  return `[${task},${attempt},${workers.of(worker)},${queues.of(queue)},${startedAt - from},${end},"${outcome}",${why},${tries}]`;
}

/** Names in order of first use. */
class Places {
  readonly #places = new Map<string, number>();

  of(name: string): number {
    let place = this.#places.get(name);
    if (place === undefined) {
      place = this.#places.size;
      this.#places.set(name, place);
    }
    return place;
  }

  json(): string {
    return JSON.stringify([...this.#places.keys()]);
  }
}
