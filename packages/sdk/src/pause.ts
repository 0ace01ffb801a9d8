// Waiting between two tries of something.

import { setTimeout as sleep } from "node:timers/promises";

/** Resolves after so long, or when the signal fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => {});
}
