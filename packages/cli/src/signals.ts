// SIGTERM and SIGINT, of which the first asks a command to end in order and the second to end at once.

import { EventEmitter, once } from "node:events";
import { constants } from "node:os";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** Faster than anybody presses a key twice. */
const sameSignalMs = 500;
/** A supervisor that signals each process of a service reaches all of them within this. */
const spreadMs = 500;

export interface Signals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
  /** True when a signal came, or comes within the time that a signal to many processes takes to reach all. */
  hasCome(): Promise<boolean>;
}

/** Ctrl-C under npm comes twice, from the terminal and from npm: a SIGINT right after the first is the same one. */
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
      // After a stall the timer runs before signals that are pending already: they are read in the turn after it.
      await nextTurn();
      return firstAt !== undefined;
    },
  };
}

/** As shells tell that a signal ended a command. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** What to do to be heard a second time. */
export function againWords(signal: NodeJS.Signals): string {
  return signal === "SIGINT" ? "press Ctrl-C again" : `send ${signal} again`;
}
