// Items of a batch that are too large to be parsed at once. The payload or result is cut out as
// bytes and never becomes a tree. The rest of the item is small, or the item is refused.

import { setImmediate as nextTurn } from "node:timers/promises";
import { JsonScanner, type Member } from "./json-scanner.js";
import { Problem } from "./problems.js";

/**
 * Maximum size that is parsed at once: a body, or an item of a batch without its payload or result.
 */
export const parsedBytesMax = 65_536;
/** Some milliseconds of scanning. A multiple of four, so that base64 can be split there. */
const sliceBytes = 524_288;

const cutNames: ReadonlySet<string> = new Set(["payload", "payloadBase64", "result", "resultBase64"]);

/** A value that was cut out of its item: JSON, or the bytes of a text. */
export class CutValue {
  readonly bytes: Buffer;
  readonly isText: boolean;

  constructor(bytes: Buffer, isText: boolean) {
    this.bytes = bytes;
    this.isText = isText;
  }
}

export interface OpenedItem {
  /** The item without the values that were cut out. */
  readonly text: string;
  readonly cut: ReadonlyMap<string, CutValue>;
}

/** Rejects with a problem that names the line. */
export async function openLargeItem(bytes: Buffer, line: number, nestingMax: number): Promise<OpenedItem> {
  const scanner = new JsonScanner(bytes, nestingMax);
  while (!scanner.scan(sliceBytes)) await nextTurn();
  if (scanner.fault !== undefined) throw new Problem("bad_request", `line ${line}: ${scanner.fault}`);
  const members = scanner.members.filter(({ name }) => cutNames.has(name));
  const left = members.reduce((sum, { from, to }) => sum - (to - from), bytes.length);
  if (left > parsedBytesMax) {
    const detail = `line ${line}: an item has at most ${parsedBytesMax} bytes beside its payload or result`;
    throw new Problem("payload_too_large", detail);
  }
  const cut = new Map<string, CutValue>();
  let text = "";
  let at = 0;
  for (const member of members) {
    // A placeholder of the same type, so that the schema sees what it expects.
    text += `${bytes.toString("utf8", at, member.from)}""`;
    at = member.to;
    cut.set(member.name, await cutOut(bytes, member, line));
  }
  return { text: text + bytes.toString("utf8", at), cut };
}

async function cutOut(bytes: Buffer, { name, from, to }: Member, line: number): Promise<CutValue> {
  const isText = bytes[from] === 0x22;
  if (!isText && name.endsWith("Base64")) throw new Problem("bad_request", `line ${line}: ${name}: base64`);
  if (!isText) return new CutValue(bytes.subarray(from, to), false);
  const text = bytes.subarray(from + 1, to - 1);
  if (name.endsWith("Base64")) return new CutValue(await fromBase64(text, `line ${line}: ${name}`), true);
  return new CutValue(text.includes(0x5c) ? await unescaped(text) : text, true);
}

async function fromBase64(text: Buffer, what: string): Promise<Buffer> {
  const decoded = Buffer.allocUnsafeSlow(Math.floor((text.length * 3) / 4));
  let size = 0;
  for (let at = 0; at < text.length; at += sliceBytes) {
    const slice = text.toString("latin1", at, at + sliceBytes);
    const isLast = at + sliceBytes >= text.length;
    if (!(isLast ? /^[A-Za-z0-9+/]*={0,2}$/ : /^[A-Za-z0-9+/]*$/).test(slice))
      throw new Problem("bad_request", `${what}: base64`);
    size += decoded.write(slice, size, "base64");
    await nextTurn();
  }
  return decoded.subarray(0, size);
}

/**
 * The bytes of a JSON text with escapes. No slice ends inside an escape or between the two halves
 * of a surrogate pair.
 */
async function unescaped(text: Buffer): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let at = 0; at < text.length; ) {
    const end = sliceEnd(text, Math.min(text.length, at + sliceBytes));
    const slice = JSON.parse(`"${text.toString("utf8", at, end)}"`) as string;
    parts.push(Buffer.from(slice));
    at = end;
    await nextTurn();
  }
  return Buffer.concat(parts);
}

/** The first offset near this one at which a slice may end. */
function sliceEnd(text: Buffer, from: number): number {
  let end = from;
  while (end < text.length) {
    const byte = text[end] as number;
    const isWithinSign = byte >= 0x80 && byte < 0xc0;
    const isNearEscape = text.subarray(Math.max(0, end - 12), end + 1).includes(0x5c);
    if (!isWithinSign && !isNearEscape) return end;
    end += 1;
  }
  return end;
}
