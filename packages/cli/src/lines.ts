// The lines of a stream, read only as fast as they are consumed. The length of a line is bounded.

import { CommandFault } from "./command.js";

const newline = 0x0a;
const carriageReturn = 0x0d;

/** The default maximum size of a payload. */
export const lineBytesMax = 268_435_456;

export interface LineSource {
  readonly lines: AsyncGenerator<Buffer>;
  /** Number of bytes read from the stream. */
  readonly bytesRead: () => number;
}

export function linesOf(stream: AsyncIterable<Buffer>, name: string): LineSource {
  let bytes = 0;
  async function* lines(): AsyncGenerator<Buffer> {
    let pieces: Buffer[] = [];
    let pending = 0;
    let number = 0;
    for await (const chunk of stream) {
      bytes += chunk.length;
      let from = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        pieces.push(chunk.subarray(from, at));
        number += 1;
        yield lineIn(pieces);
        pieces = [];
        pending = 0;
        from = at + 1;
      }
      if (from === chunk.length) continue;
      pieces.push(chunk.subarray(from));
      pending += chunk.length - from;
      if (pending > lineBytesMax) {
        throw new CommandFault(`${name}, line ${number + 1}: longer than ${lineBytesMax} bytes`);
      }
    }
    if (pending > 0) yield lineIn(pieces);
  }
  return { lines: lines(), bytesRead: () => bytes };
}

function lineIn(pieces: readonly Buffer[]): Buffer {
  const line = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
