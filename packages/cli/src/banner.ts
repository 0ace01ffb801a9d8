// The output of `serve` when all doors are open: a few lines for people, or one line for programs.

import { type RunningYard, type Standby, tlsNote } from "@yardmaster/server";

type Facts = Pick<RunningYard, "engine" | "durability" | "data" | "doors" | "closedDoors" | "notes">;

/** Fits a terminal of 80 columns. */
export function banner(yard: Facts, version: string): string {
  return [
    `yardmaster ${version}`,
    "",
    `  engine      ${yard.engine}: ${keepsWhat(yard)}`,
    ...(yard.engine !== "embedded" ? [] : [`  data        ${yard.data}`]),
    ...pageLine(yard.doors.http?.listen, yard.notes.http === tlsNote),
    ...Object.entries(yard.doors).map(
      ([name, addresses]) => `  ${name.padEnd(11)} ${shown(addresses, yard.notes[name])}`,
    ),
    ...(yard.closedDoors.length > 0 ? [`  closed      ${yard.closedDoors.join(", ")}`] : []),
    "",
  ].join("\n");
}

/** The page's address as a browser on this machine opens it. */
function pageLine(listen: string | undefined, hasTls: boolean): string[] {
  if (listen === undefined) return [];
  const reachable = listen.replace(/^(0\.0\.0\.0|\[::\])(?=:)/, "127.0.0.1");
  return [`  page        ${hasTls ? "https" : "http"}://${reachable}/`];
}

function keepsWhat({ engine, durability }: Facts): string {
  if (engine === "memory") return "keeps nothing across a restart";
  if (durability === "replicated") return "accepted tasks are on two servers";
  if (engine === "postgres") return "accepted tasks are on one server, and may be lost with it";
  return durability === "fsync"
    ? "accepted tasks are on disk"
    : "survives a crash of the process, not of the machine";
}

/** A single address is shown alone; several are named, one per line. */
function shown(addresses: Readonly<Record<string, string>>, note: string | undefined): string {
  const entries = Object.entries(addresses);
  const lines = entries.map(([key, address]) => (entries.length === 1 ? address : `${key} ${address}`));
  return [...lines, ...(note === undefined ? [] : [note])].join(`\n${" ".repeat(14)}`);
}

export function readyLine({ engine, durability, doors }: Facts): string {
  return JSON.stringify({ ready: true, pid: process.pid, engine, durability, doors });
}

/** A node of a cluster prints it before the ready line. */
export function standbyLine({ node, doors }: Standby): string {
  return JSON.stringify({ standby: true, pid: process.pid, node, doors });
}
