// A message's content as it is read: one map of MessagePack, in any order of keys. Nothing of it is built but what routing
// asks for; where the data lies is kept, so that a question can be put together again byte for byte.

import {
  type ContentFault,
  type MessageType,
  type MoniqueForm,
  type MoniqueHeader,
  messageTypes,
} from "./messages.js";
import { PackReader } from "./msgpack.js";

export interface MoniqueContent {
  readonly form: MoniqueForm;
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly encoding: string;
  /** Where the data lies in the content. */
  readonly dataStart: number;
  readonly dataEnd: number;
  /** [monique 2.3] Whether it says of itself what the tag says of it. */
  readonly agrees: boolean;
}

export type ContentReading =
  | { readonly ok: true; readonly content: MoniqueContent }
  | { readonly ok: false; readonly fault: ContentFault | "two_outcomes" };

/** More keys than this are nobody's nine fields and a few extra. */
const keysMax = 64;

/** What a key is for; `other` is stepped over. */
type NumberField = "createdAt" | "expiresAt";
type TextField = "id" | "pid" | "creator" | "spec" | "encoding" | "type";
type Field = NumberField | TextField | MessageType | "other";

const keyFields: readonly (readonly [key: Buffer, field: Field])[] = (
  [
    ["id", "id"],
    ["pid", "pid"],
    ["data", "data"],
    ["spec", "spec"],
    ["type", "type"],
    ["error", "error"],
    ["config", "config"],
    ["result", "result"],
    ["creator", "creator"],
    ["encoding", "encoding"],
    ["created_at", "createdAt"],
    ["expires_at", "expiresAt"],
  ] as const
).map(([key, field]) => [Buffer.from(key), field]);
const keysByLength: readonly (readonly (readonly [key: Buffer, field: Field])[])[] = Array.from(
  { length: 11 },
  (_, length) => keyFields.filter(([key]) => key.length === length),
);

const unreadable: ContentReading = { ok: false, fault: "unreadable_content" };
const bad: ContentReading = { ok: false, fault: "bad_content" };
const twoOutcomes: ContentReading = { ok: false, fault: "two_outcomes" };

/** `isTagWrapped`: the tag was written as MessagePack, which tells the older forms from the newest. */
export function readContent(bytes: Buffer, header: MoniqueHeader, isTagWrapped: boolean): ContentReading {
  const reader = new PackReader(bytes);
  const entries = reader.readMapHead();
  if (entries === undefined) return unreadable;
  if (entries > keysMax) return skipAll(reader, entries) ? bad : unreadable;
  const draft = new Draft(bytes);
  for (let entry = 0; entry < entries; entry += 1) {
    if (!reader.readText()) return skipAll(reader, entries - entry) ? bad : unreadable;
    if (entry === 0) draft.hasBinKeys = reader.isBin;
    const field = fieldAt(bytes, reader.start, reader.end);
    const valueAt = reader.at;
    if (draft.take(field, reader)) continue;
    reader.at = valueAt;
    draft.isBad = true;
    if (!reader.skip()) return unreadable;
  }
  if (!reader.isAtEnd) return unreadable;
  return draft.finish(header, isTagWrapped);
}

/** Whether what is left is so many keys with their values, and nothing more. */
function skipAll(reader: PackReader, entries: number): boolean {
  for (let value = entries * 2; value > 0; value -= 1) if (!reader.skip()) return false;
  return reader.isAtEnd;
}

function fieldAt(bytes: Buffer, start: number, end: number): Field {
  const candidates = keysByLength[end - start];
  if (candidates === undefined) return "other";
  for (const [key, field] of candidates) if (isAt(bytes, start, key)) return field;
  return "other";
}

function isAt(bytes: Buffer, start: number, key: Buffer): boolean {
  for (let at = 0; at < key.length; at += 1) if (bytes[start + at] !== key[at]) return false;
  return true;
}

/** What has been read so far. */
class Draft {
  hasBinKeys = false;
  isBad = false;
  readonly #bytes: Buffer;
  readonly #texts: Record<TextField, string | undefined> = {
    id: undefined,
    pid: undefined,
    creator: undefined,
    spec: undefined,
    encoding: undefined,
    type: undefined,
  };
  readonly #numbers: Record<NumberField, number | undefined> = { createdAt: undefined, expiresAt: undefined };
  /** [monique 1.4] The keys that may hold the body: `data`, or in the oldest form the one that names the type. */
  readonly #bodies: Record<MessageType, Place | undefined> = {
    config: undefined,
    result: undefined,
    error: undefined,
    data: undefined,
  };

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** False when the value is not of its field's kind, or is there twice. */
  take(field: Field, reader: PackReader): boolean {
    switch (field) {
      case "createdAt":
      case "expiresAt": {
        const isNew = this.#numbers[field] === undefined;
        this.#numbers[field] = reader.readInteger();
        return isNew && this.#numbers[field] !== undefined;
      }
      case "id":
      case "pid":
      case "creator":
      case "spec":
      case "encoding":
      case "type": {
        const isNew = this.#texts[field] === undefined;
        this.#texts[field] = this.#text(field, reader);
        return isNew && this.#texts[field] !== undefined;
      }
      case "other":
        return reader.skip();
      default:
        return this.#body(field, reader);
    }
  }

  finish(header: MoniqueHeader, isTagWrapped: boolean): ContentReading {
    const bodies = this.#bodies;
    // [monique 3.6] One of the two may be there as nil; both with something in them are impossible.
    if (bodies.result !== undefined && bodies.error !== undefined) return twoOutcomes;
    const named = this.#bodyName();
    const body = named === undefined ? undefined : bodies[named];
    const { id, pid = "", creator, spec, encoding, type = named } = this.#texts;
    const { createdAt, expiresAt } = this.#numbers;
    if (this.isBad || body === undefined || id === undefined || creator === undefined) return bad;
    if (spec === undefined || encoding === undefined) return bad;
    if (createdAt === undefined || expiresAt === undefined) return bad;
    const agrees =
      id === header.id &&
      pid === header.pid &&
      creator === header.creator &&
      spec === header.spec &&
      type === header.type;
    const form = formOf(isTagWrapped, this.hasBinKeys, this.#texts.type !== undefined);
    const { start: dataStart, end: dataEnd } = body;
    return { ok: true, content: { form, id, createdAt, expiresAt, encoding, dataStart, dataEnd, agrees } };
  }

  /** The one key that holds the body; undefined when there is none, or more than one. */
  #bodyName(): MessageType | undefined {
    let found: MessageType | undefined;
    for (const type of messageTypes) {
      if (this.#bodies[type] === undefined) continue;
      if (found !== undefined) return undefined;
      found = type;
    }
    return found;
  }

  #body(field: MessageType, reader: PackReader): boolean {
    // [monique 3.6] The document's answers have both keys, one of them empty.
    if (reader.readNil()) return true;
    if (!reader.readText() || this.#bodies[field] !== undefined) return false;
    this.#bodies[field] = { start: reader.start, end: reader.end };
    return true;
  }

  /** [monique 1.5] Text or bytes; for ids also nothing. */
  #text(field: TextField, reader: PackReader): string | undefined {
    if ((field === "id" || field === "pid") && reader.readNil()) return "";
    return reader.readText() ? this.#bytes.toString("utf8", reader.start, reader.end) : undefined;
  }
}

interface Place {
  readonly start: number;
  readonly end: number;
}

/** [monique 1.4] */
function formOf(isTagWrapped: boolean, hasBinKeys: boolean, namesType: boolean): MoniqueForm {
  if (!isTagWrapped) return "d3";
  if (!hasBinKeys) return "d2";
  return namesType ? "d1" : "d0";
}
