// Signs of `top`: a queue's signal, wagons before and behind it, bars, small plots, and what stands
// for each where a terminal has only ASCII.

import type { Alert } from "@yardmaster/sdk";
import { paint, type Style, shownWidth } from "../terminal.js";
import type { Signal } from "./page-words.js";

const signals: Readonly<Record<Signal, readonly [sign: string, style: Style]>> = {
  stopped: ["×", "red"],
  paused: ["‖", "yellow"],
  behind: ["▲", "yellow"],
  draining: ["↓", "yellow"],
  later: ["◷", "gray"],
  clear: ["●", "green"],
};

export function signalSign(signal: Signal): string {
  const [sign, style] = signals[signal];
  return paint(style, sign);
}

export function problemSign({ code, severity }: Alert): string {
  if (code === "paused") return signalSign("paused");
  if (severity === "notice") return paint("gray", "·");
  return signalSign(severity);
}

/** The number of blocks on a log scale, like the page's wagons: 4 for 38 tasks, 11 for 8,431. */
const wagonsPerDecade = 2.8;

export function wagons(tasks: number, max: number): string {
  if (tasks <= 0) return "";
  return "■".repeat(Math.min(max, Math.max(1, Math.round(wagonsPerDecade * Math.log10(tasks)))));
}

/** A bar of `width` columns between two posts. */
export function bar(share: number, width: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return `▕${"█".repeat(full)}${" ".repeat(width - full)}▏`;
}

const levels = "▁▂▃▄▅▆▇█";

/** A plot of `width` columns from zero up. Each is the mean of its share of the values. */
export function spark(values: readonly (number | null)[], width: number): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return "";
  const means = Array.from({ length: width }, (_, at) => {
    const part = known.slice((at * known.length) / width, Math.ceil(((at + 1) * known.length) / width));
    return part.reduce((sum, value) => sum + value, 0) / Math.max(1, part.length);
  });
  const most = Math.max(...means);
  return means.map((mean) => levels[most > 0 ? Math.round((mean / most) * (levels.length - 1)) : 0]).join("");
}

const inAscii: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "■": "#",
    "█": "#",
    "▕": "|",
    "▏": "|",
    "×": "x",
    "‖": "=",
    "▲": "!",
    "↓": "v",
    "◷": "@",
    "●": "o",
    "·": "-",
    "…": "~",
    "→": ">",
    "←": "<",
    "⏎": "/",
    ...Object.fromEntries([..."▁▂▃▄▅▆▇"].map((level, at) => [level, "_.:-=+*"[at]])),
  }),
);

/** Keeps the width: a character without an ASCII equivalent becomes question marks. */
export function asciiOnly(line: string): string {
  return line.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours stay as they are.
    /[^\x20-\x7e\x1b]/gu,
    (sign) => inAscii.get(sign) ?? "?".repeat(/\p{M}/u.test(sign) ? 0 : shownWidth(sign)),
  );
}
