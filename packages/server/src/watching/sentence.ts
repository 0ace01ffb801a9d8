// A sentence with links: its text, and for each part that names something, the thing it names.

import type { WallTime } from "@yardmaster/core";
import { timeJson } from "../http/task-json.js";

/** A piece of a sentence. With one of the other fields it is the name of that thing. */
export interface Part {
  readonly text: string;
  readonly queue?: string;
  readonly worker?: string;
  readonly task?: string;
  readonly peer?: string;
  /** RFC 3339; the text is the same time of day as the dispatcher's machine has it. */
  readonly time?: string;
}

export type Words = readonly (string | Part)[];

export function partsOf(words: Words): readonly Part[] {
  return words.map((word) => (typeof word === "string" ? { text: word } : word));
}

export function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text).join("");
}

export function queueName(queue: string): Part {
  return { text: queue, queue };
}

/** A worker by its whole id. */
export function workerId(worker: string): Part {
  return { text: worker, worker };
}

/** A worker without its door, where the sentence says enough. */
export function workerName(worker: string): Part {
  return { text: worker.slice(worker.indexOf("/") + 1), worker };
}

/** `14:30`, in the machine's own zone. */
export function timeOfDay(at: WallTime): Part {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return { text: `${two(date.getHours())}:${two(date.getMinutes())}`, time: timeJson(at) };
}
