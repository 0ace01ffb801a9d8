// `yardmaster top`: queues and workers, live. At a terminal it redraws until q or Ctrl-C; elsewhere it prints how things
// stand, once unless told otherwise.

import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { count, durationMs, wholeNumber } from "../amounts.js";
import { askYard, ending, newCommand, print, printJson, withYard, type YardOptions } from "../command.js";
import { tableLines } from "../table.js";
import { cut, paint, widthOf } from "../terminal.js";
import { figuresOf, ratesOf, type YardFigures } from "../yard-figures.js";
import { queueColumns } from "./queues.js";
import { workerColumns } from "./workers.js";

interface Flags extends YardOptions {
  readonly interval: number;
  readonly count?: number;
}

export function topCommand(): Command {
  const command = newCommand("top", "watch queues and workers live", [
    { does: "until q or Ctrl-C", line: "yardmaster top" },
    { does: "once, wherever output goes", line: "yardmaster top --count 1 | cat" },
    { does: "ten samples for a program", line: "yardmaster top --json --count 10 --interval 5s" },
  ])
    .option("-i, --interval <duration>", "how often", durationMs, 1000)
    .option("--count <number>", "so often, then end (default: 1 without a terminal)", wholeNumber(1));
  return withYard(command).action(ending(top));
}

async function top(flags: Flags): Promise<number> {
  const isLive = process.stdout.isTTY === true && !flags.json && process.env.TERM !== "dumb";
  const times = flags.count ?? (isLive ? Number.POSITIVE_INFINITY : 1);
  const quit = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => quit.abort());
  return askYard(flags, async (client) => {
    let before: YardFigures | undefined;
    // Asked before the screen is taken: a dispatcher that is away is told in a line.
    let figures = await figuresOf(client);
    const screen = isLive ? new Screen(() => quit.abort()) : undefined;
    try {
      for (let time = 1; ; time += 1) {
        const rates = ratesOf(before, figures);
        if (flags.json) printJson({ ...figures, perSecond: rates });
        else if (screen) screen.draw(view(figures, rates, widthOf()), process.stdout.rows);
        else print(view(figures, rates, widthOf()).join("\n"));
        if (time >= times || quit.signal.aborted) return 0;
        await sleep(flags.interval, undefined, { signal: quit.signal }).catch(() => {});
        if (quit.signal.aborted) return 0;
        before = figures;
        figures = await figuresOf(client);
      }
    } finally {
      screen?.leave();
    }
  });
}

function view(figures: YardFigures, rates: Readonly<Record<string, number>>, width: number): string[] {
  const { waiting, running, outcomes, lostAttempts, staleResults, queues, workers } = figures;
  const ended = Object.entries(outcomes).map(([state, number]) => {
    const rate = rates[state];
    return `${state} ${count(number)}${rate === undefined ? "" : ` (${count(rate)}/s)`}`;
  });
  const busy = [...queues].sort((a, b) => b.waiting + b.running - (a.waiting + a.running));
  return [
    cut(
      `${figures.at.slice(11, 19)}  waiting ${count(waiting)}  running ${count(running)}  workers ${count(workers.length)}`,
      width,
    ),
    cut(
      `${ended.join("  ") || "nothing ended yet"}  lost attempts ${count(lostAttempts)}  late results ${count(staleResults)}`,
      width,
    ),
    "",
    ...(queues.length === 0 ? ["no queues yet"] : tableLines(busy, queueColumns, width)),
    "",
    ...(workers.length === 0 ? ["no workers"] : tableLines(workers, workerColumns, width)),
  ];
}

/** The terminal's other screen, which gives back what was there before. */
class Screen {
  readonly #onKey: (key: Buffer) => void;

  constructor(quit: () => void) {
    process.stdout.write("\x1b[?1049h\x1b[?25l");
    this.#onKey = (key) => {
      if (key.includes("q") || key.includes(3)) quit();
    };
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true);
      process.stdin.on("data", this.#onKey);
    }
  }

  draw(lines: readonly string[], rows: number): void {
    const shown = lines.slice(0, rows - 2);
    const hidden = lines.length - shown.length;
    const foot = hidden > 0 ? `… ${hidden} more lines   q: quit` : "q: quit";
    process.stdout.write(
      `\x1b[H${[...shown, paint("gray", foot)].map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J`,
    );
  }

  leave(): void {
    process.stdout.write("\x1b[?25h\x1b[?1049l");
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(false);
    process.stdin.off("data", this.#onKey);
    process.stdin.pause();
  }
}
