// Whether a task is one that a query asks for. Engines with indexes use it for what their indexes leave open.

import type { TaskHead, TaskProgress } from "@yardmaster/core";
import type { TaskQuery } from "./engine.js";

export function isAskedFor(query: TaskQuery, head: TaskHead, progress: TaskProgress | undefined): boolean {
  if (query.queue !== undefined && head.queue !== query.queue) return false;
  // A task that has only been accepted has no progress, and waits.
  if (query.state !== undefined && (progress?.state ?? "waiting") !== query.state) return false;
  if (query.door !== undefined && head.door !== query.door) return false;
  if (query.worker !== undefined && progress?.worker !== query.worker) return false;
  if (query.since !== undefined && head.submittedAt < query.since) return false;
  if (query.until !== undefined && head.submittedAt >= query.until) return false;
  return query.text === undefined || saysText(query.text, head, progress);
}

function saysText(text: string, head: TaskHead, progress: TaskProgress | undefined): boolean {
  if (head.key === text || String(head.id) === text) return true;
  const error = progress?.error;
  return error !== undefined && (error.code === text || error.message.startsWith(text));
}
