// Cron expressions, evaluated by croner in an IANA time zone. At a daylight-saving change, an
// expression with one time of day runs once: at the end of the gap if its time is skipped, at the
// first if its time occurs twice. Any other expression follows the clock on the wall: times in the
// gap do not occur, and those of the repeated hour occur twice.

import type { NextCron, WallTime } from "@yardmaster/core";
import { Cron } from "croner";

/** An expression, and its last answer: `next` is the next time after any time from `after` on. */
interface Parsed {
  readonly cron: Cron;
  after: number;
  /** Infinity: there is no further time. */
  next: number;
}

/** Parsing an expression is slow, and few are in use. */
const parsedMax = 1_000;
const parsed = new Map<string, Parsed>();

/** A search takes up to 50 µs, and schedules that share an expression are due together. */
export const nextCron: NextCron = (cron, timezone, after) => {
  const known = parse(cron, timezone);
  if (after < known.after || after >= known.next) {
    known.next = known.cron.nextRun(new Date(after))?.getTime() ?? Number.POSITIVE_INFINITY;
    known.after = after;
  }
  return known.next === Number.POSITIVE_INFINITY ? undefined : (known.next as WallTime);
};

/** The setting that is wrong, and what was expected of it; undefined when nothing is. */
export function cronFault(cron: string, timezone: string): { name: string; expected: string } | undefined {
  if (!isTimezone(timezone))
    return { name: "timezone", expected: "an IANA time zone, such as Europe/Berlin" };
  if (!cron.startsWith("@") && ![5, 6].includes(cron.trim().split(/\s+/).length))
    return { name: "cron", expected: "five fields, or six with seconds first" };
  try {
    if (nextCron(cron, timezone, 0 as WallTime) !== undefined) return undefined;
    return { name: "cron", expected: "a cron expression that fires at some time" };
  } catch (fault) {
    const why = (fault as Error).message.replace(/^\w+: /, "");
    return { name: "cron", expected: `a cron expression (${why})` };
  }
}

function parse(cron: string, timezone: string): Parsed {
  const name = `${timezone} ${cron}`;
  const known = parsed.get(name);
  if (known !== undefined) return known;
  const made = {
    cron: new Cron(cron, { timezone, paused: true }),
    after: Number.POSITIVE_INFINITY,
    next: Number.POSITIVE_INFINITY,
  };
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
