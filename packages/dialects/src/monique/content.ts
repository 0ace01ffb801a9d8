// Reads a message's content: one MessagePack map, with its keys in any order. Only what routing
// needs is decoded. The position of the data is kept, so that a question can be reassembled byte
// for byte.

import { type ContentFault, type MessageType, type MoniqueForm, messageTypes } from "./messages.js";
import { isAt, PackReader } from "./msgpack.js";
import type { Tag } from "./tag.js";

export interface MoniqueContent {
  readonly form: MoniqueForm;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly encoding: string;
  /** Start of the data within the content. */
  readonly dataStart: number;
  readonly dataEnd: number;
  /** [monique 2.3] True if it has the id that the tag states. */
  readonly hasItsId: boolean;
  /** [monique 2.3] True if it agrees with every field of the tag. */
  readonly agrees: boolean;
}

/** The content, or its fault. */
export type ContentReading = MoniqueContent | ContentFault | "two_outcomes";

/** A message has nine fields. More keys than this are not one. */
const keysMax = 64;

type TextField = "id" | "pid" | "creator" | "spec" | "encoding" | "type";
type NumberField = "createdAt" | "expiresAt";
/** The meaning of a key. `other` is skipped. */
type Field = NumberField | TextField | MessageType | "other";

interface Key {
  readonly bytes: Buffer;
  readonly field: Field;
}

const fieldsOfKeys: Readonly<Record<string, Field>> = {
  ...{ id: "id", pid: "pid", data: "data", spec: "spec", type: "type", error: "error", config: "config" },
  ...{ result: "result", creator: "creator", encoding: "encoding" },
  ...{ created_at: "createdAt", expires_at: "expiresAt" },
};
const keysByLength: readonly (readonly Key[])[] = Array.from({ length: 11 }, (_, length) =>
  Object.entries(fieldsOfKeys)
    .filter(([key]) => key.length === length)
    .map(([key, field]) => ({ bytes: Buffer.from(key), field })),
);

/** A range of the content. Its end is -1 while it has not been seen. */
class ByteRange {
  start = 0;
  end = -1;

  get isSeen(): boolean {
    return this.end >= 0;
  }

  get isFilled(): boolean {
    return this.end > this.start;
  }
}

/**
 * The state of the current reading. One object serves all contents, because each is read and
 * forgotten before the next.
 */
const seen = {
  id: new ByteRange(),
  pid: new ByteRange(),
  creator: new ByteRange(),
  spec: new ByteRange(),
  encoding: new ByteRange(),
  type: new ByteRange(),
  // [monique 1.4] Keys that may hold the body: `data`, or in the oldest form the key that names the
  // type.
  config: new ByteRange(),
  result: new ByteRange(),
  error: new ByteRange(),
  data: new ByteRange(),
  createdAt: undefined as number | undefined,
  expiresAt: undefined as number | undefined,
  hasBinKeys: false,
  isBad: false,
};
const seenRanges = Object.values(seen).filter((each) => each instanceof ByteRange);

function forget(): void {
  for (const range of seenRanges) range.end = -1;
  seen.createdAt = undefined;
  seen.expiresAt = undefined;
  seen.isBad = false;
}

export function readContent(bytes: Buffer, tag: Tag): ContentReading {
  const reader = new PackReader(bytes);
  const entries = reader.readMapHead();
  if (entries === undefined) return "unreadable_content";
  if (entries > keysMax) return skipAll(reader, entries);
  forget();
  for (let entry = 0; entry < entries; entry += 1) {
    if (!reader.readText()) return skipAll(reader, entries - entry);
    if (entry === 0) seen.hasBinKeys = reader.isBin;
    const field = fieldAt(bytes, reader.start, reader.end);
    const valueAt = reader.at;
    if (take(field, reader)) continue;
    reader.at = valueAt;
    seen.isBad = true;
    if (!reader.skip()) return "unreadable_content";
  }
  return reader.isAtEnd ? finish(bytes, tag) : "unreadable_content";
}

/**
 * Checks that the rest is this many key-value pairs and nothing more. If so it is a map, though not
 * a content.
 */
function skipAll(reader: PackReader, entries: number): ContentFault {
  for (let value = entries * 2; value > 0; value -= 1) if (!reader.skip()) return "unreadable_content";
  return reader.isAtEnd ? "bad_content" : "unreadable_content";
}

function fieldAt(bytes: Buffer, start: number, end: number): Field {
  const candidates = keysByLength[end - start];
  if (candidates === undefined) return "other";
  for (const { bytes: key, field } of candidates) if (isAt(bytes, start, key)) return field;
  return "other";
}

/** False when the value has the wrong type or the field occurs twice. */
function take(field: Field, reader: PackReader): boolean {
  switch (field) {
    case "createdAt":
    case "expiresAt": {
      const isNew = seen[field] === undefined;
      seen[field] = reader.readTime();
      return isNew && seen[field] !== undefined;
    }
    case "other":
      return reader.skip();
    case "id":
    case "pid":
      // [monique 1.5] Text, bytes or nil.
      if (reader.readNil()) return mark(seen[field], 0, 0);
      return takeText(seen[field], reader);
    case "creator":
    case "spec":
    case "encoding":
    case "type":
      return takeText(seen[field], reader);
    default:
      // [monique 3.6] Answers by the document have both keys, one of them nil or empty.
      return reader.readNil() || takeText(seen[field], reader);
  }
}

function takeText(range: ByteRange, reader: PackReader): boolean {
  return reader.readText() && mark(range, reader.start, reader.end);
}

function mark(range: ByteRange, start: number, end: number): boolean {
  if (range.isSeen) return false;
  range.start = start;
  range.end = end;
  return true;
}

function finish(bytes: Buffer, tag: Tag): ContentReading {
  // [monique 3.6] One of the two may be nil or empty. Both filled is impossible.
  if (seen.result.isFilled && seen.error.isFilled) return "two_outcomes";
  const body = bodyName(tag.type);
  const { createdAt, expiresAt, id, creator, spec, encoding, type } = seen;
  if (seen.isBad || body === undefined || createdAt === undefined || expiresAt === undefined)
    return "bad_content";
  if (!id.isSeen || !creator.isSeen || !spec.isSeen || !encoding.isSeen) return "bad_content";
  const hasItsId = isField(bytes, id, tag, tag.idAt, tag.pidAt - 1);
  const { start: dataStart, end: dataEnd } = seen[body];
  return {
    form: formOf(tag.isWrapped, seen.hasBinKeys, type.isSeen),
    createdAt,
    expiresAt,
    encoding: encodingAt(bytes, encoding),
    dataStart,
    dataEnd,
    hasItsId,
    agrees:
      hasItsId &&
      isField(bytes, seen.pid, tag, tag.pidAt, tag.creatorAt - 1) &&
      isField(bytes, creator, tag, tag.creatorAt, tag.end) &&
      isField(bytes, spec, tag, tag.specAt, tag.idAt - 1) &&
      (type.isSeen ? isField(bytes, type, tag, tag.typeAt, tag.specAt - 1) : body === tag.type),
  };
}

/**
 * The key that holds the body; undefined if there is none or more than one is filled. If all are
 * empty, it is the one that the tag's type names, or `data`.
 */
function bodyName(type: MessageType): MessageType | undefined {
  let filled: MessageType | undefined;
  let empty: MessageType | undefined;
  for (const name of messageTypes) {
    if (!seen[name].isSeen) continue;
    if (!seen[name].isFilled) {
      if (empty === undefined || name === type) empty = name;
    } else if (filled !== undefined) return undefined;
    else filled = name;
  }
  return filled ?? empty;
}

/** True if a text of the content equals a field of the tag. An absent text counts as empty. */
function isField(bytes: Buffer, range: ByteRange, tag: Tag, start: number, end: number): boolean {
  const length = Math.max(0, range.end - range.start);
  if (length !== end - start) return false;
  for (let at = 0; at < length; at += 1) if (bytes[range.start + at] !== tag.bytes[start + at]) return false;
  return true;
}

const json = Buffer.from("JSON");

/** Nearly always the same word, so it is compared before it is decoded. */
function encodingAt(bytes: Buffer, { start, end }: ByteRange): string {
  return end - start === json.length && isAt(bytes, start, json)
    ? "JSON"
    : bytes.toString("utf8", start, end);
}

/** [monique 1.4] */
function formOf(isTagWrapped: boolean, hasBinKeys: boolean, namesType: boolean): MoniqueForm {
  if (!isTagWrapped) return hasBinKeys ? (namesType ? "d6" : "d5") : namesType ? "d3" : "d4";
  if (!hasBinKeys) return namesType ? "d2" : "d7";
  return namesType ? "d1" : "d0";
}
