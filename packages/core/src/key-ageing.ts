// What becomes of a task's idempotency key when the task has ended: the key stays valid for a
// while, and is then forgotten.

import type { KeyEntry } from "./keys.js";
import type { Task } from "./task.js";
import { after } from "./time.js";
import type { Yard } from "./yard.js";

export function ageKey(yard: Yard, task: Task): void {
  const { key, fingerprint, id } = task.head;
  if (key === undefined) return;
  const entry = task.queue.keys.get(key);
  if (entry === undefined || entry.task !== id) return;
  const finishedAt = yard.now.wall;
  entry.expiresAt = after(yard.now.instant, yard.options.keyTtlMs);
  yard.step.change({ kind: "key", key: { queue: task.queue.name, key, task: id, fingerprint, finishedAt } });
  yard.finishedKeys.add(entry);
  if (yard.finishedKeys.size > yard.options.limits.finishedKeys) {
    yard.limitReached("finishedKeys");
    dropOldestKey(yard);
  }
  armKeys(yard);
}

/** Forgets expired keys. */
export function forgetKeys(yard: Yard): void {
  for (;;) {
    const oldest = yard.finishedKeys.oldest();
    if (oldest?.expiresAt === undefined || oldest.expiresAt > yard.now.instant) break;
    dropOldestKey(yard);
  }
  armKeys(yard);
}

function dropOldestKey(yard: Yard): void {
  const entry: KeyEntry | undefined = yard.finishedKeys.dropOldest();
  if (entry === undefined) return;
  yard.step.change({ kind: "key-gone", queue: entry.queue.name, key: entry.key, task: entry.task });
  yard.dropIfEmpty(entry.queue);
}

export function armKeys(yard: Yard): void {
  const oldest = yard.finishedKeys.oldest();
  if (oldest?.expiresAt !== undefined) yard.deadlines.arm(yard.keysDeadline, oldest.expiresAt);
}
