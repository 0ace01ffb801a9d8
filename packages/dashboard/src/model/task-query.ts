// The query bar of Tasks: chips such as `queue:render`, and the rest as words. It becomes the API's
// filter.

import { taskStates } from "./task-states.js";
import { parseDuration } from "./time.js";

export const chipKeys = ["queue", "state", "door", "worker", "key", "since", "until"] as const;
export type ChipKey = (typeof chipKeys)[number];

export interface Chip {
  readonly key: ChipKey;
  readonly value: string;
  /** What was expected, if the value is invalid. */
  readonly fault: string | undefined;
}

export interface TaskQuery {
  readonly chips: readonly Chip[];
  readonly words: string;
}

/** Values with blanks are in double quotes: `worker:"http/a b"`. */
export function parseTaskQuery(text: string): TaskQuery {
  const chips = new Map<ChipKey, Chip>();
  const words: string[] = [];
  for (const [part, key, quoted, plain] of text.matchAll(/(?:(\w+):(?:"([^"]*)"|(\S+)))|\S+/g)) {
    const known = chipKeys.find((one) => one === key);
    const value = quoted ?? plain;
    if (known && value) chips.set(known, { key: known, value, fault: faultOf(known, value) });
    else words.push(part);
  }
  const key = chips.get("key");
  if (key && words.length > 0)
    chips.set("key", { ...key, fault: "expected no other words: remove one of them" });
  return { chips: [...chips.values()], words: words.join(" ") };
}

export function taskQueryText({ chips, words }: TaskQuery): string {
  const written = chips.map(({ key, value }) => `${key}:${/\s/.test(value) ? `"${value}"` : value}`);
  return [...written, words].filter((part) => part !== "").join(" ");
}

export function withoutChip(query: TaskQuery, key: ChipKey): TaskQuery {
  return { ...query, chips: query.chips.filter((chip) => chip.key !== key) };
}

/** The query without each of its parts in turn, the last one first. */
export function withoutEach(query: TaskQuery): { part: string; rest: TaskQuery }[] {
  const rests = query.chips.map((chip) => ({
    part: taskQueryText({ chips: [chip], words: "" }),
    rest: withoutChip(query, chip.key),
  }));
  if (query.words !== "") rests.push({ part: query.words, rest: { ...query, words: "" } });
  return rests.reverse();
}

export function withChip(query: TaskQuery, key: ChipKey, value: string): TaskQuery {
  const chips = query.chips.filter((chip) => chip.key !== key);
  return { ...query, chips: [...chips, { key, value, fault: faultOf(key, value) }] };
}

/** The parameters of `GET /v1/tasks`. `since:1h` counts back from `now`, the dispatcher's time. */
export function filterOf({ chips, words }: TaskQuery, now: number): Record<string, string> {
  const filter: Record<string, string> = {};
  for (const { key, value, fault } of chips) {
    if (fault !== undefined) continue;
    if (key === "since" || key === "until") filter[key] = timeOf(value, now) ?? "";
    else if (key === "key") filter.q = value;
    else filter[key] = value;
  }
  if (words !== "") filter.q = words;
  return filter;
}

/** A duration back from now, a time of today, or a whole time. */
export function timeOf(value: string, now: number): string | undefined {
  const back = parseDuration(value);
  if (back !== undefined) return new Date(now - back).toISOString();
  const today = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(value);
  if (today) {
    const at = new Date(now).setHours(Number(today[1]), Number(today[2]), Number(today[3] ?? 0), 0);
    return new Date(at > now ? at - 86_400_000 : at).toISOString();
  }
  const at = /^\d{4}-\d{2}-\d{2}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

function faultOf(key: ChipKey, value: string): string | undefined {
  if (key === "state" && !taskStates.some((state) => state === value)) {
    return `expected one of ${taskStates.join(", ")}`;
  }
  if ((key === "since" || key === "until") && timeOf(value, 0) === undefined) {
    return "expected 30s, 5m, 1h, 7d, 14:30, or a whole time";
  }
  if (key === "queue" && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value)) {
    return "expected a queue's name: letters, digits, . _ -";
  }
  return undefined;
}
