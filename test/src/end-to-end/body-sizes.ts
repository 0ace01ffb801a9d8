// Sizes of payloads and results that tests carry through the dispatcher: nothing, the least, around what the embedded
// engine keeps inside a record, and far above that.

export const bodySizes: readonly number[] = [0, 1, 4095, 4096, 4097, 70_000];
/** Takes many reads and writes of a socket, so tests use only a few of them. */
export const hugeSize = 5_000_000;

/** Text of a size that shows whose it is and where it was cut. */
export function textOfSize(size: number, name: string): string {
  const line = `${name}.`;
  return line.repeat(Math.ceil(size / line.length)).slice(0, size);
}
