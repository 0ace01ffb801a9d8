// Reads a message's tag. Every message has one and most are routed by it alone, so its fields are
// found as byte ranges and decoded only on demand.

import { isUtf8 } from "node:buffer";
import type { MessageType, MoniqueHeader } from "./messages.js";
import { isAt, PackReader } from "./msgpack.js";

/** [monique 2.2] Leaves room for long creators. Anything longer is not a header. */
const tagBytesMax = 2_048;
/** [monique 2.2] Real ids have 28 or 40 characters. */
const idBytesMax = 256;
const colon = 0x3a;

const types: Readonly<Record<number, { readonly type: MessageType; readonly bytes: Buffer }>> = {
  99: { type: "config", bytes: Buffer.from("config:") },
  114: { type: "result", bytes: Buffer.from("result:") },
  101: { type: "error", bytes: Buffer.from("error:") },
  100: { type: "data", bytes: Buffer.from("data:") },
};

export class Tag implements MoniqueHeader {
  readonly bytes: Buffer;
  readonly type: MessageType;
  readonly spec: string;
  /** [monique 1.3] True if written as MessagePack. */
  readonly isWrapped: boolean;
  // Start of each field. A field ends before the colon of the next one; the last ends with the tag.
  readonly typeAt: number;
  readonly specAt: number;
  readonly idAt: number;
  readonly pidAt: number;
  readonly creatorAt: number;
  readonly end: number;
  #id: string | undefined;
  #pid: string | undefined;
  #creator: string | undefined;

  constructor(bytes: Buffer, type: MessageType, isWrapped: boolean, offsets: TagOffsets) {
    this.bytes = bytes;
    this.type = type;
    this.isWrapped = isWrapped;
    this.typeAt = offsets.start;
    this.specAt = offsets.specAt;
    this.idAt = offsets.idAt;
    this.pidAt = offsets.pidAt;
    this.creatorAt = offsets.creatorAt;
    this.end = offsets.end;
    this.spec = bytes.toString("utf8", offsets.specAt, offsets.idAt - 1);
    this.#id = undefined;
    this.#pid = undefined;
    this.#creator = undefined;
  }

  get id(): string {
    this.#id ??= this.bytes.toString("utf8", this.idAt, this.pidAt - 1);
    return this.#id;
  }

  get pid(): string {
    this.#pid ??= this.bytes.toString("utf8", this.pidAt, this.creatorAt - 1);
    return this.#pid;
  }

  get creator(): string {
    this.#creator ??= this.bytes.toString("utf8", this.creatorAt, this.end);
    return this.#creator;
  }
}

interface TagOffsets {
  start: number;
  specAt: number;
  idAt: number;
  pidAt: number;
  creatorAt: number;
  end: number;
}

/** One object for all tags, because each is read and forgotten before the next. */
const offsets: TagOffsets = { start: 0, specAt: 0, idAt: 0, pidAt: 0, creatorAt: 0, end: 0 };

export function readTag(frame: Buffer): Tag | "bad_tag" | "unknown_type" {
  if (frame.length > tagBytesMax) return "bad_tag";
  // [monique 1.3] A raw tag begins with c, r, e or d, so the two cannot be confused.
  const isWrapped = (frame[0] ?? 0) >= 0x80;
  if (!findText(frame, isWrapped) || !findFields(frame)) return "bad_tag";
  const { start, specAt, idAt, pidAt, creatorAt, end } = offsets;
  const known = types[frame[start] ?? 0];
  if (known === undefined || known.bytes.length !== specAt - start || !isAt(frame, start, known.bytes)) {
    return "unknown_type";
  }
  const isWhole = idAt - specAt > 1 && pidAt - idAt > 1 && end > creatorAt;
  if (!isWhole || pidAt - idAt > idBytesMax || creatorAt - pidAt > idBytesMax) return "bad_tag";
  return new Tag(frame, known.type, isWrapped, offsets);
}

/** The known parts of an answer in a refused message: its question and its creator. */
export interface AnswerTag {
  readonly pid: string;
  readonly creator: string;
}

/** [monique 3.8] Undefined if the tag names no question or is not an answer's. */
export function readAnswerTag(frame: Buffer | undefined): AnswerTag | undefined {
  if (frame === undefined || frame.length > tagBytesMax) return undefined;
  if (!findText(frame, (frame[0] ?? 0) >= 0x80) || !findFields(frame)) return undefined;
  const { start, specAt, pidAt, creatorAt, end } = offsets;
  const type = frame.toString("utf8", start, specAt - 1);
  const pid = frame.toString("utf8", pidAt, creatorAt - 1);
  if (type === "config" || type === "data" || pid === "") return undefined;
  return { pid, creator: frame.toString("utf8", creatorAt, end) };
}

function findText(frame: Buffer, isWrapped: boolean): boolean {
  offsets.start = 0;
  offsets.end = frame.length;
  if (!isWrapped) return true;
  const reader = new PackReader(frame);
  if (!reader.readText() || !reader.isAtEnd) return false;
  offsets.start = reader.start;
  offsets.end = reader.end;
  return true;
}

/** Finds exactly four colons in valid UTF-8. */
function findFields(frame: Buffer): boolean {
  const { start, end } = offsets;
  let colons = 0;
  let bits = 0;
  for (let at = start; at < end; at += 1) {
    const byte = frame[at] as number;
    bits |= byte;
    if (byte !== colon) continue;
    colons += 1;
    if (colons === 1) offsets.specAt = at + 1;
    else if (colons === 2) offsets.idAt = at + 1;
    else if (colons === 3) offsets.pidAt = at + 1;
    else if (colons === 4) offsets.creatorAt = at + 1;
    else return false;
  }
  return colons === 4 && (bits < 0x80 || isUtf8(frame.subarray(start, end)));
}
