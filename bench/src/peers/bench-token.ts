// The token of a principal of the benchmark.

export function tokenOf(index: number): string {
  return `token-of-the-benchmark-${index}`;
}
