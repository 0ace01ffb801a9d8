// What a load under way does on order: waits a little for it to settle, then counts, then lets what is under way end and
// tells how much of it did not.

import { onOrder, report } from "./child.js";

export interface Load {
  /** Tasks that have ended. */
  done: number;
  /** Tasks that have begun and not ended. */
  underWay: number;
  /** Begins the next task whenever one ends. */
  isOpen: boolean;
}

/** On order: starts the load once, waits a little for it to settle, then counts what ends. */
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

/** Far beyond every retransmission. */
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
