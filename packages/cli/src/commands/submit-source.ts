// The payloads of `yardmaster submit`: words, lines of a file or of standard input, or all of it as
// one payload.

import { createReadStream, statSync } from "node:fs";
import { Body } from "@yardmaster/sdk";
import { CommandFault, UsageFault } from "../command.js";
import { type LineSource, linesOf } from "../lines.js";

export interface SourceFlags {
  readonly file?: string;
  readonly whole?: boolean;
  readonly type?: string;
  readonly key?: string;
  readonly keyPrefix?: string;
}

export interface Source {
  readonly items: AsyncIterable<Item> | Iterable<Item>;
  /** True if there is exactly one payload. */
  readonly isSingle: boolean;
  /** Fraction read so far, 0 to 1, if the size is known. */
  readonly share: (done: number) => number | undefined;
}

export interface Item {
  readonly payload: Body | string;
  readonly key?: string;
}

export function sourceOf(payloads: readonly string[], flags: SourceFlags): Source {
  const { file, whole, key, keyPrefix, type } = flags;
  const isStream = payloads.length === 1 && payloads[0] === "-";
  if (payloads.length > 1 && payloads.includes("-"))
    throw new UsageFault("- stands for the lines of standard input; no other payload goes with it");
  if (file !== undefined && payloads.length > 0)
    throw new UsageFault("--file and a payload: give one of them");
  if (file === undefined && payloads.length === 0) {
    throw new UsageFault("nothing to submit: give a payload, - for lines of standard input, or --file");
  }
  if (whole && file === undefined && !isStream) throw new UsageFault("--whole goes with - or --file");
  const isMany = file !== undefined || isStream ? !whole : payloads.length > 1;
  if (isMany && key !== undefined) throw new UsageFault("--key is for one task; many take --key-prefix");
  if (!isMany && keyPrefix !== undefined)
    throw new UsageFault("--key-prefix is for many tasks; one takes --key");
  const named = (payload: Item["payload"], index: number): Item => ({
    payload,
    ...(key === undefined ? {} : { key }),
    ...(keyPrefix === undefined ? {} : { key: `${keyPrefix}:${index + 1}` }),
  });
  if (file === undefined && !isStream) {
    return {
      items: payloads.map(named),
      isSingle: payloads.length === 1,
      share: (done) => done / payloads.length,
    };
  }
  const stream = file === undefined ? process.stdin : createReadStream(file, { highWaterMark: 262_144 });
  const bytesTotal = file === undefined ? undefined : sizeOf(file);
  if (whole) return { items: wholeOf(stream, type, named), isSingle: true, share: () => undefined };
  const source = linesOf(stream, file ?? "standard input");
  return {
    items: linesAsItems(source, type, named),
    isSingle: false,
    share: () => (bytesTotal === undefined || bytesTotal === 0 ? undefined : source.bytesRead() / bytesTotal),
  };
}

function sizeOf(file: string): number | undefined {
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) throw new CommandFault(`${file}: is a folder; expected a file`);
    return stat.isFile() ? stat.size : undefined;
  } catch (cause) {
    if (cause instanceof CommandFault) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CommandFault(`${file}: ${code === "ENOENT" ? "there is no such file" : message}`, { cause });
  }
}

const textType = "text/plain; charset=utf-8";

async function* linesAsItems(
  { lines }: LineSource,
  type: string | undefined,
  named: (payload: Body, index: number) => Item,
): AsyncGenerator<Item> {
  let index = 0;
  for await (const line of lines) {
    yield named(new Body(line, type ?? textType), index);
    index += 1;
  }
}

async function* wholeOf(
  stream: AsyncIterable<Buffer>,
  type: string | undefined,
  named: (payload: Body, index: number) => Item,
): AsyncGenerator<Item> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  yield named(new Body(Buffer.concat(pieces), type), 0);
}
