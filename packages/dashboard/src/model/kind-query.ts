// The query that finds the tasks of one kind of failure. A kind's words have an ellipsis for what
// differs from task to task. What comes before the first ellipsis begins every message.

import type { FailureKind } from "../live/api-shapes.js";
import { chipKeys } from "./task-query.js";

/** Enough to tell kinds apart; the index holds the first words of a message. */
const lengthMax = 120;
const word = /[\p{L}\p{N}]+/gu;
/** Would be read as a chip. */
const chipLike = new RegExp(`\\b(${chipKeys.join("|")}):(?=\\S)`, "g");

export function kindQuery({ queue, code, words, isExpired }: FailureKind): string {
  const state = `queue:${queue} state:${isExpired ? "expired" : "failed"}`;
  return isExpired ? state : `${state} ${messageWords(words) || code}`;
}

function messageWords(words: string): string {
  const [start = ""] = words.split("…");
  // The last word before an ellipsis may be the beginning of a longer one, which also matches.
  if ((start.match(word)?.length ?? 0) >= 2) return safe(cut(start.trim()));
  // A word behind an ellipsis may be the end of a longer one, which does not match.
  const whole = words.split(/\s+/).filter((part) => !part.includes("…") && /[\p{L}\p{N}]/u.test(part));
  return whole.length < 2 ? "" : safe(cut(whole.slice(0, 8).join(" ")));
}

function cut(text: string): string {
  if (text.length <= lengthMax) return text;
  const at = text.lastIndexOf(" ", lengthMax);
  return text.slice(0, at > 0 ? at : lengthMax);
}

function safe(text: string): string {
  return text.replaceAll(chipLike, "$1 ");
}
