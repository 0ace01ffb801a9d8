// What `serve` says when all doors are open: a few lines for people, or one for programs.

import type { RunningYard } from "@yardmaster/server";

type Facts = Pick<RunningYard, "engine" | "durability" | "data" | "doors" | "closedDoors" | "notes">;

/** Fits a terminal of 80 columns. */
export function banner(yard: Facts, version: string): string {
  return [
    `yardmaster ${version}`,
    "",
    `  engine      ${yard.engine}: ${keepsWhat(yard)}`,
    ...(yard.engine === "memory" ? [] : [`  data        ${yard.data}`]),
    ...Object.entries(yard.doors).map(
      ([name, addresses]) => `  ${name.padEnd(11)} ${shown(addresses, yard.notes[name])}`,
    ),
    ...(yard.closedDoors.length > 0 ? [`  closed      ${yard.closedDoors.join(", ")}`] : []),
    "",
  ].join("\n");
}

function keepsWhat({ engine, durability }: Facts): string {
  if (engine === "memory") return "keeps nothing over a restart";
  return durability === "fsync"
    ? "what is accepted is on disk"
    : "survives a crash of it, not of the machine";
}

/** One address stands alone; several are named, a line each. */
function shown(addresses: Readonly<Record<string, string>>, note: string | undefined): string {
  const entries = Object.entries(addresses);
  const lines = entries.map(([key, address]) => (entries.length === 1 ? address : `${key} ${address}`));
  return [...lines, ...(note === undefined ? [] : [note])].join(`\n${" ".repeat(14)}`);
}

export function readyLine({ engine, durability, doors }: Facts): string {
  return JSON.stringify({ ready: true, pid: process.pid, engine, durability, doors });
}
