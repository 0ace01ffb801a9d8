// A message's tag as it is read. Every message has one and most are only passed on by it, so its fields are found as bytes
// and become texts when somebody asks for them.

import { isUtf8 } from "node:buffer";
import type { MessageType, MoniqueHeader } from "./messages.js";
import { isAt, PackReader } from "./msgpack.js";

/** [monique 2.2] Room for long creators; what is longer is no header. */
const tagBytesMax = 2_048;
/** [monique 2.2] Ids are 28 or 40 characters in the field. */
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
  /** [monique 1.3] Written as MessagePack. */
  readonly isWrapped: boolean;
  // Where each field begins. It ends before the colon in front of the next, the last one at the end.
  readonly typeAt: number;
  readonly specAt: number;
  readonly idAt: number;
  readonly pidAt: number;
  readonly creatorAt: number;
  readonly end: number;
  #id: string | undefined;
  #pid: string | undefined;
  #creator: string | undefined;

  constructor(bytes: Buffer, type: MessageType, isWrapped: boolean, places: Places) {
    this.bytes = bytes;
    this.type = type;
    this.isWrapped = isWrapped;
    this.typeAt = places.start;
    this.specAt = places.specAt;
    this.idAt = places.idAt;
    this.pidAt = places.pidAt;
    this.creatorAt = places.creatorAt;
    this.end = places.end;
    this.spec = bytes.toString("utf8", places.specAt, places.idAt - 1);
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

interface Places {
  start: number;
  specAt: number;
  idAt: number;
  pidAt: number;
  creatorAt: number;
  end: number;
}

/** One for all tags: it is read and forgotten before the next. */
const places: Places = { start: 0, specAt: 0, idAt: 0, pidAt: 0, creatorAt: 0, end: 0 };

export function readTag(frame: Buffer): Tag | "bad_tag" | "unknown_type" {
  if (frame.length > tagBytesMax) return "bad_tag";
  // [monique 1.3] A raw tag begins with c, r, e or d: there is no clash.
  const isWrapped = (frame[0] ?? 0) >= 0x80;
  if (!findText(frame, isWrapped) || !findFields(frame)) return "bad_tag";
  const { start, specAt, idAt, pidAt, creatorAt, end } = places;
  const known = types[frame[start] ?? 0];
  if (known === undefined || known.bytes.length !== specAt - start || !isAt(frame, start, known.bytes)) {
    return "unknown_type";
  }
  const isWhole = idAt - specAt > 1 && pidAt - idAt > 1 && end > creatorAt;
  if (!isWhole || pidAt - idAt > idBytesMax || creatorAt - pidAt > idBytesMax) return "bad_tag";
  return new Tag(frame, known.type, isWrapped, places);
}

/** What can be known of an answer whose message is refused: the question it is for, and who gave it. */
export interface AnswerTag {
  readonly pid: string;
  readonly creator: string;
}

/** [monique 3.8] Undefined where the tag names no question, or says that it is no answer. */
export function readAnswerTag(frame: Buffer | undefined): AnswerTag | undefined {
  if (frame === undefined || frame.length > tagBytesMax) return undefined;
  if (!findText(frame, (frame[0] ?? 0) >= 0x80) || !findFields(frame)) return undefined;
  const { start, specAt, pidAt, creatorAt, end } = places;
  const type = frame.toString("utf8", start, specAt - 1);
  const pid = frame.toString("utf8", pidAt, creatorAt - 1);
  if (type === "config" || type === "data" || pid === "") return undefined;
  return { pid, creator: frame.toString("utf8", creatorAt, end) };
}

function findText(frame: Buffer, isWrapped: boolean): boolean {
  places.start = 0;
  places.end = frame.length;
  if (!isWrapped) return true;
  const reader = new PackReader(frame);
  if (!reader.readText() || !reader.isAtEnd) return false;
  places.start = reader.start;
  places.end = reader.end;
  return true;
}

/** Finds exactly four colons in text that is UTF-8. */
function findFields(frame: Buffer): boolean {
  const { start, end } = places;
  let colons = 0;
  let bits = 0;
  for (let at = start; at < end; at += 1) {
    const byte = frame[at] as number;
    bits |= byte;
    if (byte !== colon) continue;
    colons += 1;
    if (colons === 1) places.specAt = at + 1;
    else if (colons === 2) places.idAt = at + 1;
    else if (colons === 3) places.pidAt = at + 1;
    else if (colons === 4) places.creatorAt = at + 1;
    else return false;
  }
  return colons === 4 && (bits < 0x80 || isUtf8(frame.subarray(start, end)));
}
