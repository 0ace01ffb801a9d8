// How long a task waits before its next try. The first loss goes out again at once: most are one worker's accident.
// From the second on the wait doubles from a second to a minute, with a fifth of jitter so that tasks do not march in step.

const firstWaitMs = 1_000;
const waitMsMax = 60_000;
const jitterShare = 0.2;

/** No wait is longer; one that seems to be is a clock that was set back in between. */
export const retryDelayMsMax = waitMsMax * (1 + jitterShare);

/** `count` is how many losses, or failures, the task has had by now; `random` is in [0, 1). */
export function retryDelayMs(count: number, random: number): number {
  if (count < 2) return 0;
  const base = Math.min(firstWaitMs * 2 ** (count - 2), waitMsMax);
  return Math.round(base * (1 - jitterShare + 2 * jitterShare * random));
}
