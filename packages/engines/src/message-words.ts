// The words of an error's message, by which tasks are found. The same words are put into an index
// and looked for by the filter, so that every engine finds the same tasks.

/** Words of a message that count. Every one costs index entries; the first ones say most. */
export const messageWordsMax = 24;
/** A longer word is cut. */
const wordLengthMax = 64;

const word = /[\p{L}\p{N}]+/gu;

/**
 * Distinct, in lower case, in the order of the text. A word consists of letters and digits; any
 * other character separates words.
 */
export function wordsOf(text: string): string[] {
  const words = new Set<string>();
  for (const [found] of text.matchAll(word)) {
    words.add(found.toLowerCase().slice(0, wordLengthMax));
    if (words.size === messageWordsMax) break;
  }
  return [...words];
}

let lastText = "";
let lastWords: readonly string[] = [];

/** True if every word of the text is a word of the message, or the beginning of one. */
export function saysWords(message: string, text: string): boolean {
  // One search text is compared with many messages.
  if (text !== lastText) {
    lastText = text;
    lastWords = wordsOf(text);
  }
  if (lastWords.length === 0) return false;
  const words = wordsOf(message);
  return lastWords.every((asked) => words.some((each) => each.startsWith(asked)));
}
