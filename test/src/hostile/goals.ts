// The goals of a siege, and which of them were missed.

import type { DoorReport, SiegeReport } from "./siege.js";

const stallMsMax = 250;
/** Memory above idle, during one attack. */
const peakMiBMax = 512;
/** Multiple of the undisturbed p99. */
const p99Factor = 3;
/**
 * Memory above idle once the attackers are gone: pages that the allocator keeps, and the history of
 * finished tasks.
 */
const afterMiBMax = 192;

/**
 * Goals of every siege. A dispatcher that is short of memory deliberately keeps some peers waiting,
 * as their dialects allow.
 */
function missedAlways({ silentDoors, ended, lost, notReady, doors }: SiegeReport): string[] {
  const missed = [];
  if (ended !== undefined) missed.push(`the dispatcher ended: ${ended}`);
  if (lost > 0) missed.push(`${lost} acknowledged tasks are lost`);
  if (silentDoors.length > 0) missed.push(...silentDoors);
  const refused = doors.some(({ refusals }) => refusals > 0);
  if (refused && notReady.length === 0) missed.push("work was refused and /readyz did not say why");
  return missed;
}

export function missedBySiege(report: SiegeReport): string[] {
  const { longestStallMs, peakMiB } = report;
  const missed = missedAlways(report);
  if (longestStallMs > stallMsMax) missed.push(`stalled ${longestStallMs} ms`);
  if (peakMiB > peakMiBMax) missed.push(`took ${peakMiB} MiB`);
  return missed;
}

export function missedBySoak(report: SiegeReport): string[] {
  const missed = missedAlways(report);
  const judged = report.notReady.length === 0 ? report.doors : report.doors.filter(isHealth);
  for (const { door, p99Ms, undisturbedP99Ms } of judged) {
    const goal = Math.max(p99Factor * undisturbedP99Ms, stallMsMax);
    if (p99Ms > goal) missed.push(`${door}: p99 ${Math.round(p99Ms)} ms, above ${Math.round(goal)}`);
  }
  if (report.afterMiB > afterMiBMax) missed.push(`${report.afterMiB} MiB above idle at the end`);
  return missed;
}

function isHealth({ door }: DoorReport): boolean {
  return door === "healthz";
}
