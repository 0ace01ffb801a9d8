// Decides whether a task matches a query. Engines with indexes use it for what their indexes do not
// cover.

import type { TaskHead, TaskProgress } from "@yardmaster/core";
import type { TaskQuery } from "./engine.js";
import { saysWords } from "./message-words.js";

export function isAskedFor(query: TaskQuery, head: TaskHead, progress: TaskProgress | undefined): boolean {
  if (query.queue !== undefined && head.queue !== query.queue) return false;
  // A task that was only accepted has no progress, and waits.
  if (query.state !== undefined && (progress?.state ?? "waiting") !== query.state) return false;
  if (query.door !== undefined && head.door !== query.door) return false;
  if (query.worker !== undefined && progress?.worker !== query.worker) return false;
  if (query.since !== undefined && head.submittedAt < query.since) return false;
  if (query.until !== undefined && head.submittedAt >= query.until) return false;
  const { messagePrefix } = query;
  if (messagePrefix !== undefined && !progress?.error?.message.startsWith(messagePrefix)) return false;
  return query.text === undefined || saysText(query.text, head, progress);
}

function saysText(text: string, head: TaskHead, progress: TaskProgress | undefined): boolean {
  if (head.key === text || String(head.id) === text) return true;
  const error = progress?.error;
  return error !== undefined && (error.code === text || saysMessage(error.message, text));
}

/** True if the message begins with the text, or has all its words. */
export function saysMessage(message: string, text: string): boolean {
  return message.startsWith(text) || saysWords(message, text);
}
