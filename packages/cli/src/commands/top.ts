// `yardmaster top`: the yard live in a terminal, in the words of the page. Elsewhere it prints the
// current state, once by default.

import { setTimeout as sleep } from "node:timers/promises";
import type { HttpClient } from "@yardmaster/sdk";
import { type Command, Option } from "commander";
import { durationMs, wholeNumber } from "../amounts.js";
import { askYard, ending, newCommand, print, printJson, withYard, type YardOptions } from "../command.js";
import { widthOf } from "../terminal.js";
import { asciiOnly } from "../top/signs.js";
import { TerminalScreen } from "../top/terminal-screen.js";
import { TopLooks } from "../top/top-looks.js";
import { TopScreen } from "../top/top-screen.js";
import { TopYard } from "../top/top-yard.js";
import { figuresOf, ratesOf, type YardFigures } from "../yard-figures.js";

interface Flags extends YardOptions {
  readonly interval: number;
  readonly count?: number;
  readonly ascii?: boolean;
}

/** How often views request data that no event carries. */
const refreshMs = 2_000;
/** Maximum number of queues and workers that are printed without a terminal. */
const printedLinesMax = 2_000;

export function topCommand(): Command {
  const command = newCommand("top", "watch problems, queues, workers and tasks live", [
    { does: "until q or Ctrl-C", line: "yardmaster top" },
    { does: "in a terminal without Unicode", line: "yardmaster top --ascii" },
    { does: "once, wherever output goes", line: "yardmaster top --count 1 | cat" },
    { does: "ten samples for a program", line: "yardmaster top --json --count 10 --interval 5s" },
  ])
    .addOption(
      new Option("-i, --interval <duration>", "time between two screens")
        .default(1000, "1s")
        .argParser(durationMs),
    )
    .option("--count <number>", "end after this many screens (default: 1 without a terminal)", wholeNumber(1))
    .option("--ascii", "only ASCII: # for blocks");
  return withYard(command).action(ending(top));
}

async function top(flags: Flags): Promise<number> {
  const isLive = process.stdout.isTTY === true && !flags.json && process.env.TERM !== "dumb";
  const times = flags.count ?? (isLive ? Number.POSITIVE_INFINITY : 1);
  const quit = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => quit.abort());
  return askYard(flags, (client) =>
    flags.json ? sampled(client, flags, times, quit.signal) : drawn(client, flags, times, isLive, quit),
  );
}

/** For programs: counters and their rates, a line each. */
async function sampled(client: HttpClient, flags: Flags, times: number, quit: AbortSignal): Promise<number> {
  let before: YardFigures | undefined;
  for (let time = 1; ; time += 1) {
    const figures = await figuresOf(client);
    printJson({ ...figures, perSecond: ratesOf(before, figures) });
    if (time >= times) return 0;
    await sleep(flags.interval, undefined, { signal: quit }).catch(() => {});
    if (quit.aborted) return 0;
    before = figures;
  }
}

async function drawn(
  client: HttpClient,
  flags: Flags,
  times: number,
  isLive: boolean,
  quit: AbortController,
): Promise<number> {
  const yard = new TopYard();
  const looks = new TopLooks(client, yard);
  const screen = new TopScreen(client, yard, looks, flags.url);
  // Before the screen is switched, so that an unreachable dispatcher is reported on a normal line.
  await looks.begin();
  const heard = hear(client, yard, quit);
  await heard.first;
  const shown = (lines: readonly string[]) => (flags.ascii ? lines.map(asciiOnly) : lines);
  try {
    if (!isLive) await printed(screen, { ...flags, times, quit: quit.signal, shown });
    else await interactive(screen, looks, { ...flags, times, quit, shown });
  } finally {
    quit.abort();
    looks.watchWire(false);
  }
  const fault = await heard.fault;
  if (fault !== undefined) throw fault;
  return 0;
}

/** Follows the events until it is told to quit. `first` resolves with the first whole picture. */
function hear(client: HttpClient, yard: TopYard, quit: AbortController) {
  const types = ["queue", "worker", "alert", "figures", "beats", "attempts"];
  let begun = () => {};
  const first = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const listen = async (): Promise<unknown> => {
    try {
      for await (const event of client.events({ types, signal: quit.signal })) {
        yard.take(event, Date.now());
        if (yard.isWhole) begun();
      }
      return undefined;
    } catch (fault) {
      return quit.signal.aborted ? undefined : fault;
    } finally {
      begun();
      quit.abort();
    }
  };
  return { first, fault: listen() };
}

interface Drawing {
  readonly interval: number;
  readonly times: number;
  readonly shown: (lines: readonly string[]) => readonly string[];
}

async function printed(
  screen: TopScreen,
  { interval, times, quit, shown }: Drawing & { readonly quit: AbortSignal },
): Promise<void> {
  for (let time = 1; ; time += 1) {
    const width = Math.min(200, widthOf());
    const lines = screen.lines({ width, height: printedLinesMax, isPrinted: true }, Date.now());
    // Leaves out the line of keys and the empty lines above it.
    const end = lines.findLastIndex((line, at) => line !== "" && at < lines.length - 1);
    print(shown(lines.slice(0, end + 1)).join("\n"));
    if (time >= times) return;
    await sleep(interval, undefined, { signal: quit }).catch(() => {});
    if (quit.aborted) return;
  }
}

async function interactive(
  screen: TopScreen,
  looks: TopLooks,
  { interval, times, quit, shown }: Drawing & { readonly quit: AbortController },
): Promise<void> {
  const draw = () => terminal.draw(shown(screen.lines(terminal.size, Date.now())));
  const look = async () => {
    looks.watchWire(screen.view === "wire");
    await looks.refresh(screen.view, screen.taskFilter, terminal.size.height);
  };
  let pressed = Promise.resolve();
  const terminal = new TerminalScreen({
    // One key after the other, because each acts on what the previous one has shown.
    key: (key) => {
      pressed = pressed.then(() => press(key));
    },
    resize: () => draw(),
  });
  const press = async (key: string): Promise<void> => {
    const before = `${screen.view} ${JSON.stringify(screen.taskFilter)}`;
    if (await screen.press(key, terminal.size, Date.now())) return quit.abort();
    draw();
    if (before === `${screen.view} ${JSON.stringify(screen.taskFilter)}`) return;
    await look();
    draw();
  };
  const refreshing = setInterval(() => void look(), refreshMs);
  try {
    for (let time = 1; !quit.signal.aborted; time += 1) {
      draw();
      if (time >= times) return;
      await sleep(interval, undefined, { signal: quit.signal }).catch(() => {});
    }
  } finally {
    clearInterval(refreshing);
    terminal.leave();
  }
}
