// Suggests the name that a user may have meant.

/** Two typing errors; with more, a suggestion would be noise. */
const slipsMax = 2;

export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let fewest = slipsMax + 1;
  for (const candidate of known) {
    const slips = slipsBetween(word.toLowerCase(), candidate.toLowerCase());
    if (slips < fewest && slips < candidate.length) {
      fewest = slips;
      best = candidate;
    }
  }
  return best;
}

/** Number of letters to add, remove or change to turn one into the other. */
function slipsBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > slipsMax) return slipsMax + 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
