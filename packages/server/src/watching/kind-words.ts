// Decides when two failures are of the same kind: their messages are equal without numbers, quoted
// text, paths and ids, which become an ellipsis.

/** A longer line is not read as one sentence. */
const lengthMax = 200;

const changing: readonly RegExp[] = [
  // Quoted text. An apostrophe inside a word does not open a quote.
  /(?<!\w)'[^'\n]*'|"[^"\n]*"|`[^`\n]*`/g,
  // URLs and file paths.
  /\b[a-z][a-z0-9+.-]{1,15}:\/\/\S+|(?:\b[A-Za-z]:)?(?:[\\/][\w.@%+~-]+){2,}[\\/]?/g,
  // Ids: hexadecimal of eight digits and more, and words in which letters and digits mix.
  /\b0x[0-9a-f]+\b|\b(?=[a-f-]*\d)[0-9a-f]{8}[0-9a-f-]*\b|\b(?=[A-Za-z_]*\d)\w{12,}\b/gi,
  /\d+(?:[.,:]\d+)*/g,
];

export function kindWords(message: string): string {
  let words = message.slice(0, lengthMax * 2);
  for (const pattern of changing) words = words.replace(pattern, "…");
  words = words
    .replace(/\s+/g, " ")
    .replace(/…(?:[\s,]*…)+/g, "…")
    .trim();
  return words.length > lengthMax ? `${words.slice(0, lengthMax - 1)}…` : words;
}
