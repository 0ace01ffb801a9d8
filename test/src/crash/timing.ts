// Durations in a crash test.

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Usually short, sometimes long enough to last through a whole restart. */
export function workMs(): number {
  return Math.random() < 0.05 ? 1000 * Math.random() : 15 * Math.random();
}
