// Prints the progress of a dispatcher's start once a second. A quick start, or one with little to
// load, prints nothing.

import type { StartLoading } from "@yardmaster/server";
import { count, size } from "./amounts.js";

const everyMs = 1000;
/** A smaller store opens at once, unless the machine itself is slow. */
const storeBytesMin = 16_777_216;

export interface LoadingLines {
  readonly take: (loading: StartLoading) => void;
  end(): void;
}

/** `say` receives each line. */
export function sayLoading(data: string, say: (line: string) => void): LoadingLines {
  let line: string | undefined;
  let total: number | undefined;
  const timer = setInterval(() => {
    if (line !== undefined) say(line);
  }, everyMs).unref();
  return {
    take(loading) {
      if (loading.type === "opened") total = loading.tasks;
      line = lineOf(data, loading, total);
    },
    end: () => clearInterval(timer),
  };
}

function lineOf(data: string, loading: StartLoading, total: number | undefined): string | undefined {
  if (loading.type === "opening") {
    const { storeBytes } = loading;
    return storeBytes < storeBytesMin ? undefined : `opening the store in ${data}, ${size(storeBytes)}`;
  }
  if (loading.type === "opened")
    return total === undefined || total === 0 ? undefined : `loading: ${count(total)} tasks`;
  const { tasks, records } = loading;
  if (total === undefined) return `loading: ${count(tasks)} tasks so far`;
  if (tasks < total) return `loading: ${count(tasks)} of ${count(total)} tasks`;
  return `loading: all ${count(total)} tasks, ${count(records - tasks)} other records so far`;
}
