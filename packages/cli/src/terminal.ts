// The properties of the output: its width, whether it has colours, and which characters are safe to
// show.

import { inspect } from "node:util";

export type Style = "bold" | "gray" | "red" | "green" | "yellow" | "magenta" | "cyan";

/**
 * The terminal's width in columns. Without a terminal there is no limit, unless COLUMNS sets one.
 */
export function widthOf(stream: NodeJS.WriteStream = process.stdout): number {
  if (stream.isTTY && stream.columns > 0) return stream.columns;
  const given = Number(process.env.COLUMNS);
  return Number.isInteger(given) && given > 0 ? given : Number.POSITIVE_INFINITY;
}

/** https://no-color.org: any value but the empty one means no. */
export function hasColours(stream: NodeJS.WriteStream = process.stdout): boolean {
  if ((process.env.NO_COLOR ?? "") !== "" || process.env.TERM === "dumb") return false;
  return stream.isTTY === true;
}

export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  const [open, close] = inspect.colors[style] ?? [];
  return hasColours(stream) ? `\x1b[${open}m${text}\x1b[${close}m` : text;
}

const stateStyles: ReadonlyMap<string, Style> = new Map(
  Object.entries<Style>({
    waiting: "yellow",
    running: "cyan",
    busy: "cyan",
    done: "green",
    idle: "green",
    failed: "red",
    lost: "red",
    expired: "magenta",
    cancelled: "gray",
    draining: "magenta",
    paused: "yellow",
  }),
);

export function paintState(state: string, shown: string = state): string {
  const style = stateStyles.get(state);
  return style === undefined ? shown : paint(style, shown);
}

/** Makes peers' text safe to show: control characters could move the cursor, or worse. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === "\n") return "⏎";
    if (character === "\t") return " ";
    return `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`;
  });
}

/** Characters that take two columns: most East Asian ones, and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const signs = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function columnsOf(sign: string): number {
  return wide.test(sign) ? 2 : 1;
}

export function shownWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of signs.segment(text)) columns += columnsOf(segment);
  return columns;
}

/** Cuts to `width` columns, with an ellipsis. */
export function cut(text: string, width: number): string {
  if (shownWidth(text) <= width) return text;
  if (width < 1) return "";
  let columns = 0;
  let kept = "";
  for (const { segment } of signs.segment(text)) {
    columns += columnsOf(segment);
    if (columns > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export function padded(text: string, width: number, align: "left" | "right" = "left"): string {
  const room = " ".repeat(Math.max(0, width - shownWidth(text)));
  return align === "left" ? text + room : room + text;
}
