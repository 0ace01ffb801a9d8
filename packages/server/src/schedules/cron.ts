// Cron expressions, evaluated by croner in an IANA time zone. At a daylight-saving change, an
// expression with one time of day runs once: at the end of the gap if its time is skipped, at the
// first if its time occurs twice. Any other expression follows the clock on the wall: times in the
// gap do not occur, and those of the repeated hour occur twice.

import type { NextCron, WallTime } from "@yardmaster/core";
import { Cron } from "croner";

/** Parsing an expression is slow, and few are in use. */
const parsedMax = 1_000;
const parsed = new Map<string, Cron>();

export const nextCron: NextCron = (cron, timezone, after) => {
  const next = cronOf(cron, timezone).nextRun(new Date(after));
  return next === null ? undefined : (next.getTime() as WallTime);
};

/** The setting that is wrong, and what was expected of it; undefined when nothing is. */
export function cronFault(cron: string, timezone: string): { name: string; expected: string } | undefined {
  if (!isTimezone(timezone))
    return { name: "timezone", expected: "an IANA time zone, such as Europe/Berlin" };
  if (!cron.startsWith("@") && ![5, 6].includes(cron.trim().split(/\s+/).length))
    return { name: "cron", expected: "five fields, or six with seconds first" };
  try {
    cronOf(cron, timezone);
    return undefined;
  } catch (fault) {
    const why = (fault as Error).message.replace(/^\w+: /, "");
    return { name: "cron", expected: `a cron expression (${why})` };
  }
}

function cronOf(cron: string, timezone: string): Cron {
  const name = `${timezone} ${cron}`;
  const known = parsed.get(name);
  if (known !== undefined) return known;
  const made = new Cron(cron, { timezone, paused: true });
  if (parsed.size >= parsedMax) parsed.clear();
  parsed.set(name, made);
  return made;
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
