// The delay before a task's next try, by the backoff of its queue.

import { type Backoff, defaultBackoff } from "./limits.js";

/** The longest possible delay. A longer remaining delay means that the clock was set back. */
export function retryDelayMsMax({ maxMs, jitter }: Backoff): number {
  return maxMs * (1 + jitter);
}

/** `count`: losses or failures of the task so far. `random`: in [0, 1). */
export function retryDelayMs(count: number, random: number, backoff: Backoff = defaultBackoff): number {
  const { atOnce, firstMs, factor, maxMs, jitter } = backoff;
  const waits = count - atOnce;
  if (waits < 1) return 0;
  const base = Math.min(firstMs * factor ** (waits - 1), maxMs);
  return Math.round(base * (1 - jitter + 2 * jitter * random));
}
