// Text from peers, made fit to be shown: control and direction characters become visible signs, so
// that a name can neither break a line nor reverse the text around it. Markup needs no escaping,
// because the page sets text and never HTML.

/**
 * Characters that move or hide text: C0, DEL, C1, direction marks and overrides, zero-width ones,
 * line separators.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const unsafeInBlock =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Joiners are part of how Persian and Indic words and many emoji are written. Between two such
 * characters they stay.
 */
const joined =
  /(?<=[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])|(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})/gu;
/** In these scripts joiners mean nothing, and could only make two names look the same. */
const plainScripts = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u;

/** One line: tabs and line ends are shown, too. */
export function shownLine(text: string): string {
  return withoutUnsafe(text, unsafe);
}

/** Several lines: line ends and tabs stay. */
export function shownBlock(text: string): string {
  return withoutUnsafe(text.replace(/\r\n?/g, "\n"), unsafeInBlock);
}

function withoutUnsafe(text: string, pattern: RegExp): string {
  // Nearly no text has joiners, and looking at both sides of each character costs.
  if (!/[\u200c\u200d]/.test(text)) return text.replace(pattern, visible);
  const kept = new Set<number>();
  for (const { index } of text.matchAll(joined))
    if (!plainScripts.test(text.slice(index - 1, index + 2))) kept.add(index);
  return text.replace(pattern, (character, at: number) => (kept.has(at) ? character : visible(character)));
}

/** Control characters have pictures of their own in Unicode; others are written as their number. */
function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** At most `max` characters, with an ellipsis where some are left out. */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
