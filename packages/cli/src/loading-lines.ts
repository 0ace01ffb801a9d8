// Says once a second how far the start of a dispatcher is. A start that takes less says nothing.

import type { StartLoading } from "@yardmaster/server";
import { count } from "./amounts.js";

const everyMs = 1000;

export interface LoadingLines {
  readonly take: (loading: StartLoading) => void;
  end(): void;
}

/** `say` is given each line. */
export function sayLoading(data: string, say: (line: string) => void): LoadingLines {
  let loading: StartLoading | undefined;
  let total: number | undefined;
  const timer = setInterval(() => say(lineOf(data, loading, total)), everyMs).unref();
  return {
    take(next) {
      loading = next;
      total ??= next.total;
    },
    end: () => clearInterval(timer),
  };
}

export function lineOf(data: string, loading: StartLoading | undefined, total: number | undefined): string {
  if (loading === undefined) return `opening the store in ${data}`;
  const { tasks, records } = loading;
  if (total === undefined) return `loading: ${count(tasks)} tasks so far`;
  if (tasks < total) return `loading: ${count(tasks)} of ${count(total)} tasks`;
  return `loading: all ${count(total)} tasks, ${count(records - tasks)} other records so far`;
}
