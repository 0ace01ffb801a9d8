// The lines that start a worker for a queue, a door each: what to paste into a shell.

import type { Doors } from "../live/api-shapes.js";
import type { ReachedApi } from "./shell-lines.js";

export interface WorkerLine {
  readonly door: string;
  readonly line: string;
  /** Why this door cannot serve the queue by itself, where it cannot. */
  readonly note: string | undefined;
}

/** The command at the end of each line: what runs for a task. */
const program = "-- ./your-program";

/** Doors on 0.0.0.0 or [::] are reached at the host of this page. */
export function workerLines(queue: string, doors: Doors, { base, hasToken }: ReachedApi): WorkerLine[] {
  const lines: WorkerLine[] = [];
  const { hostname } = new URL(base);
  const hostOf = (address: string) => address.replace(/^(0\.0\.0\.0|\[::\])(?=:)/, hostname);
  if (doors.http !== undefined) {
    const token = hasToken ? " --token $YARD_TOKEN" : "";
    const line = `yardmaster work ${base} --queue ${queue}${token} ${program}`;
    lines.push({ door: "http", line, note: undefined });
  }
  const pingpong = doors.pingpong?.workers;
  if (pingpong !== undefined)
    lines.push(own("pingpong", `yardmaster work pingpong://${hostOf(pingpong)} ${program}`, queue));
  const pulse = doors.pulse?.dir;
  if (pulse !== undefined) lines.push(own("pulse", `yardmaster work pulse:${pulse} ${program}`, queue));
  const udp = Object.values(doors.udp ?? {})[0];
  if (udp !== undefined) lines.push(own("udp", `yardmaster work udp://${hostOf(udp)} ${program}`, queue));
  const scaler = doors.scaler?.listen;
  if (scaler !== undefined)
    lines.push(own("scaler", `yardmaster work scaler://${hostOf(scaler)} ${program}`, queue));
  return lines;
}

/**
 * These doors serve the queue that the configuration gives them, by default the one named after the
 * dialect.
 */
function own(door: string, line: string, queue: string): WorkerLine {
  const note = queue === door ? undefined : `serves ${queue} where doors.${door}.queue is ${queue}`;
  return { door, line, note };
}
