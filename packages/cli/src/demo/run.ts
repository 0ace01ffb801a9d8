// Runs the demo until its time is over or a signal ends it.

import { setTimeout as sleep } from "node:timers/promises";
import { print, printJson, version } from "../command.js";
import { hearSignals } from "../signals.js";
import { duration } from "../top/page-words.js";
import { DemoPeers } from "./demo-peers.js";
import { openDemoYard } from "./demo-yard.js";

export interface DemoOptions {
  readonly json: boolean;
  /** Infinity: until a signal. */
  readonly lastsMs: number;
}

/** Resolves with the exit code. */
export async function runDemo({ json, lastsMs }: DemoOptions): Promise<number> {
  const signals = hearSignals();
  const demo = await openDemoYard();
  const peers = new DemoPeers(demo);
  try {
    await peers.open();
    if (json) printJson({ ready: true, page: `${demo.url}/`, doors: demo.yard.doors });
    else print(words(demo.url, lastsMs));
    const ends: Promise<unknown>[] = [signals.first, demo.yard.fault];
    if (Number.isFinite(lastsMs)) ends.push(sleep(lastsMs, "time", { ref: false }));
    const end = await Promise.race(ends);
    if (end instanceof Error) throw end;
    if (!json)
      print(end === "time" ? "The demo is over. npm start opens a yard of your own." : "The demo is over.");
    return 0;
  } finally {
    await peers.close();
    await demo.stop();
  }
}

function words(url: string, lastsMs: number): string {
  const end = Number.isFinite(lastsMs)
    ? `It ends after ${duration(lastsMs)}, or with Ctrl-C.`
    : "It ends with Ctrl-C.";
  return `yardmaster ${version}, a demo

  page        ${url}/
  top         yardmaster top --url ${url}

A dispatcher of its own, in memory, with workers at all six doors. One of them
dies on purpose, some tasks fail, and one queue has no worker: see what the
page says. ${end}
`;
}
