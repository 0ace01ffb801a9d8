// Sizes of payloads and results in tests: empty, one byte, around the limit of a record in the
// embedded engine, and far above it.

export const bodySizes: readonly number[] = [0, 1, 4095, 4096, 4097, 70_000];
/** Takes many reads and writes of a socket, so tests use only a few of these. */
export const hugeSize = 5_000_000;

/** Text of this size that contains its name and shows where it was cut. */
export function textOfSize(size: number, name: string): string {
  const line = `${name}.`;
  return line.repeat(Math.ceil(size / line.length)).slice(0, size);
}
