// SIGTERM and SIGINT: the first asks a command to end in order, the second to end at once.

import { EventEmitter, once } from "node:events";
import { constants } from "node:os";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** Shorter than two key presses by a person. */
const sameSignalMs = 500;
/** A supervisor that signals each process of a service reaches all of them within this time. */
const spreadMs = 500;

export interface Signals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
  /** True when a signal came, or comes within the time that a signal to several processes takes. */
  hasCome(): Promise<boolean>;
}

/**
 * Under npm, Ctrl-C arrives twice, from the terminal and from npm, so a second SIGINT right after
 * the first is ignored.
 */
export function hearSignals(): Signals {
  const heard = new EventEmitter();
  let firstAt: number | undefined;
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      const isSame = name === "SIGINT" && firstAt !== undefined && performance.now() - firstAt < sameSignalMs;
      if (!isSame) heard.emit(firstAt === undefined ? "first" : "second", name);
      firstAt ??= performance.now();
    });
  }
  const next = async (which: string) => (await once(heard, which))[0];
  const first = next("first");
  return {
    first,
    second: next("second"),
    async hasCome() {
      await Promise.race([first, sleep(spreadMs)]);
      // After a stall the timer runs before pending signals, which are delivered in the next turn.
      await nextTurn();
      return firstAt !== undefined;
    },
  };
}

/** The exit code that shells use for a command ended by a signal. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** How to signal a second time. */
export function againWords(signal: NodeJS.Signals): string {
  return signal === "SIGINT" ? "press Ctrl-C again" : `send ${signal} again`;
}
