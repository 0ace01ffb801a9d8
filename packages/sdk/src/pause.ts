// Waits between two tries.

import { setTimeout as sleep } from "node:timers/promises";

/** Resolves after `ms`, or when the signal fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => {});
}
