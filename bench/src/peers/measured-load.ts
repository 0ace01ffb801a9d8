// The measurement of a running load: waits a little for it to settle, counts, lets open tasks end,
// and reports how many did not.

import { onOrder, report } from "./child.js";

export interface Load {
  /** Number of tasks that have ended. */
  done: number;
  /** Number of tasks in flight. */
  underWay: number;
  /** True while a new task begins whenever one ends. */
  isOpen: boolean;
}

/**
 * On request: starts the load once, waits a little for it to settle, then counts the tasks that
 * end.
 */
export function countEnded(ended: () => number, start: () => void): void {
  let isStarted = false;
  onOrder(({ measureMs, warmUpMs }) => {
    if (!isStarted) start();
    isStarted = true;
    setTimeout(() => {
      report({ started: true });
      const from = { at: performance.now(), ended: ended() };
      setTimeout(() => {
        const tasks = ended() - from.ended;
        report({ tasks, perSecond: tasks / ((performance.now() - from.at) / 1000) });
      }, measureMs as number);
    }, warmUpMs as number);
  });
}

/** Far longer than every retransmission. */
const endMsMax = 3_000;

export function measure(load: Load, start: () => void): void {
  onOrder(({ warmUpMs, measureMs }) => {
    load.isOpen = true;
    start();
    setTimeout(() => {
      report({ started: true });
      const from = { at: performance.now(), done: load.done };
      setTimeout(() => {
        const tasks = load.done - from.done;
        const perSecond = tasks / ((performance.now() - from.at) / 1000);
        load.isOpen = false;
        const endBy = performance.now() + endMsMax;
        const end = () => {
          if (load.underWay > 0 && performance.now() < endBy) setTimeout(end, 10);
          else report({ tasks, perSecond, lost: load.underWay });
        };
        end();
      }, measureMs as number);
    }, warmUpMs as number);
  });
}
