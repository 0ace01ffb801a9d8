// [pulse 2] The two numberings of the dialect's enums, and how a pulse's numbering is recognised.

import type { ControllerWord, ControlWord, Numbering, PulseWord, WorkerWord } from "./messages.js";

/** The words of one enum, in both directions and both numberings. */
export class Words<Word extends string> {
  readonly #words: Readonly<Record<Numbering, readonly (Word | undefined)[]>>;

  constructor(document: readonly Word[], main: readonly Word[]) {
    // In main numbering 0 is INVALID, which no peer uses.
    this.#words = { document, main: [undefined, ...main] };
  }

  wordOf(number: number, numbering: Numbering): Word | number {
    return this.#words[numbering][number] ?? number;
  }

  numberOf(word: Word | number, numbering: Numbering): number {
    return typeof word === "number" ? word : this.#words[numbering].indexOf(word);
  }
}

export const pulseWords = new Words<PulseWord>(
  ["REGISTER", "OK", "FETCH_ME", "SHUTDOWN"],
  ["OK", "REGISTER", "FETCH_ME", "SHUTDOWN"],
);
export const controllerWords = sameOrder<ControllerWord>(["OK", "UNKNOWN_TYPE", "UNKNOWN_ID", "FAILED"]);
export const controlWords = sameOrder<ControlWord>(["RESTART", "FETCH", "SET_TASK", "GET_STATUS"]);
export const workerWords = sameOrder<WorkerWord>(["OK", "NO_FETCH", "BUSY", "TASK_FAILED", "FAILED"]);

function sameOrder<Word extends string>(words: readonly Word[]): Words<Word> {
  return new Words(words, words);
}

/** Numbers that, from an unknown worker, can only belong to one numbering. */
const documentRegister = 0;
const mainRegister = 2;
const mainShutdown = 4;

/**
 * [pulse 2.2] The numbering of a pulse when none is configured: for a known worker, the one it
 * registered in. For an unknown worker, what its number can mean, and the document's if it can mean
 * both. A FETCH_ME by the document has the number of a REGISTER in main, but it names a task, which
 * a registering worker does not have.
 */
export function numberingOfPulse(
  { type, workerId, taskId }: { readonly type: number; readonly workerId: bigint; readonly taskId: bigint },
  registered: (id: bigint) => Numbering | undefined,
): Numbering {
  const known = workerId === 0n ? undefined : registered(workerId);
  if (known !== undefined) return known;
  if (type === documentRegister) return "document";
  const isMainRegister = type === mainRegister && workerId === 0n && taskId === 0n;
  return type === mainShutdown || isMainRegister ? "main" : "document";
}
