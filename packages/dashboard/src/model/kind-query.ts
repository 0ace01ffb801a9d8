// The query that finds the tasks of one kind of failure. A kind's words have an ellipsis for what
// differs from task to task. What comes before the first ellipsis begins every message.

import type { FailureKind } from "../live/api-shapes.js";
import { chipKeys } from "./task-query.js";

/** Enough to tell kinds apart; the index holds the first words of a message. */
const lengthMax = 120;
/** A shorter word is in too many messages to tell anything. */
const lettersMin = 3;
/** Characters that a query may not have. Words are found without them. */
const unprintable = /\p{C}+/gu;
/** Would be read as a chip. */
const chipLike = new RegExp(`\\b(${chipKeys.join("|")}):(?=\\S)`, "g");

export function kindQuery({ queue, code, words, isExpired }: FailureKind): string {
  const state = `queue:${queue} state:${isExpired ? "expired" : "failed"}`;
  return isExpired ? state : `${state} ${messageWords(words) || code}`;
}

function messageWords(words: string): string {
  const [start = ""] = words.split("…");
  // The last word before an ellipsis may be cut short. It still matches, because a query's last
  // word may be the beginning of a longer one.
  if (letters(start) >= lettersMin) return safe(start);
  // A word that touches an ellipsis may lack its beginning, and would not match.
  const whole = words.split(/\s+/).filter((part) => !part.includes("…") && /[\p{L}\p{N}]/u.test(part));
  const some = whole.slice(0, 8).join(" ");
  return letters(some) < lettersMin ? "" : safe(some);
}

function letters(text: string): number {
  return text.match(/\p{L}/gu)?.length ?? 0;
}

function cut(text: string): string {
  if (text.length <= lengthMax) return text;
  const at = text.lastIndexOf(" ", lengthMax);
  return text.slice(0, at > 0 ? at : lengthMax);
}

function safe(text: string): string {
  return cut(text.replaceAll(unprintable, " ").trim()).replaceAll(chipLike, "$1 ");
}
