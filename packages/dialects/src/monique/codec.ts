// Frames to messages and back, in all four historical forms. A message is two frames: a tag that can always be read, and
// a content that may be anything.

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { type MoniqueContent, readContent } from "./content.js";
import {
  type ContentFault,
  type MessageType,
  type MoniqueFault,
  type MoniqueForm,
  type MoniqueHeader,
  type MoniqueMessage,
  messageTypes,
} from "./messages.js";
import { binHead, PackReader, packBin, packNumber, packText } from "./msgpack.js";

export type Reading =
  | {
      readonly ok: true;
      readonly header: MoniqueHeader;
      /** [monique 2.4] The frame, where it can be read; otherwise why not, and the message goes by its tag alone. */
      readonly content: MoniqueContent | undefined;
      readonly contentFault: ContentFault | undefined;
      readonly isTagWrapped: boolean;
    }
  | { readonly ok: false; readonly fault: MoniqueFault };

/** [monique 2.2] Room for long creators; what is longer is no header. */
const tagBytesMax = 2_048;
/** [monique 2.2] Ids are 28 or 40 characters in the field. */
const idLengthMax = 256;

const types: ReadonlySet<string> = new Set(messageTypes);

const frameCount: Reading = { ok: false, fault: "frame_count" };
const badTag: Reading = { ok: false, fault: "bad_tag" };
const unknownType: Reading = { ok: false, fault: "unknown_type" };

export function readMessage(frames: readonly Buffer[]): Reading {
  const [tag, content] = frames;
  if (frames.length !== 2 || tag === undefined || content === undefined) return frameCount;
  const text = tagText(tag);
  if (text === undefined) return badTag;
  const fields = text.split(":");
  const [type = "", spec = "", id = "", pid = "", creator = ""] = fields;
  if (fields.length !== 5) return badTag;
  if (!types.has(type)) return unknownType;
  if (spec === "" || id === "" || creator === "" || id.length > idLengthMax || pid.length > idLengthMax) {
    return badTag;
  }
  const header: MoniqueHeader = { type: type as MessageType, spec, id, pid, creator };
  const isTagWrapped = isWrapped(tag);
  const reading = readContent(content, header, isTagWrapped);
  if (reading.ok) {
    return { ok: true, header, content: reading.content, contentFault: undefined, isTagWrapped };
  }
  const { fault } = reading;
  if (fault === "two_outcomes") return { ok: false, fault };
  return { ok: true, header, content: undefined, contentFault: fault, isTagWrapped };
}

/** [monique 1.3] Whether the tag is a str or bin of MessagePack. A raw one begins with c, r, e or d: no clash. */
function isWrapped(tag: Buffer): boolean {
  const first = tag[0] ?? 0;
  return first >= 0x80;
}

function tagText(tag: Buffer): string | undefined {
  if (tag.length > tagBytesMax) return undefined;
  if (!isWrapped(tag)) return isUtf8(tag) ? tag.toString() : undefined;
  const reader = new PackReader(tag);
  if (!reader.readText() || !reader.isAtEnd) return undefined;
  const inner = tag.subarray(reader.start, reader.end);
  return isUtf8(inner) ? inner.toString() : undefined;
}

export function tagOf({ type, spec, id, pid, creator }: MoniqueHeader): string {
  return `${type}:${spec}:${id}:${pid}:${creator}`;
}

/** [monique 1.6] Both frames in one of the forms; keys are in the order of the alphabet, as the field's writers have them. */
export function writeMessage(message: MoniqueMessage, form: MoniqueForm): [tag: Buffer, content: Buffer] {
  const tag = Buffer.from(tagOf(message));
  return [form === "d3" ? tag : packBin(tag), writeContent(message, form)];
}

function writeContent(message: MoniqueMessage, form: MoniqueForm): Buffer {
  const { creator, createdAt, expiresAt, encoding, data, id, pid, spec, type } = message;
  const keys = form === "d0" || form === "d1" ? binKeys : strKeys;
  const name = form === "d3" ? packText : (text: string) => packBin(Buffer.from(text));
  const entries: Buffer[] = [keys.created_at, packNumber(createdAt), keys.creator, packText(creator)];
  const body = [binHead(data.length), data];
  if (form === "d0" && type === "config") entries.push(keys.config, ...body);
  if (form !== "d0" || type === "data") entries.push(keys.data, ...body);
  entries.push(keys.encoding, packText(encoding));
  if (form === "d0" && type === "error") entries.push(keys.error, ...body);
  entries.push(keys.expires_at, packNumber(expiresAt), keys.id, name(id), keys.pid, name(pid));
  if (form === "d0" && type === "result") entries.push(keys.result, ...body);
  entries.push(keys.spec, packText(spec));
  if (form !== "d0") entries.push(keys.type, packText(type));
  return Buffer.concat([Buffer.of(form === "d0" ? 0x88 : 0x89), ...entries]);
}

const keyNames = [
  "config",
  "created_at",
  "creator",
  "data",
  "encoding",
  "error",
  "expires_at",
  "id",
  "pid",
  "result",
  "spec",
  "type",
] as const;
type Keys = Readonly<Record<(typeof keyNames)[number], Buffer>>;

const strKeys = Object.fromEntries(keyNames.map((key) => [key, packText(key)])) as Keys;
const binKeys = Object.fromEntries(keyNames.map((key) => [key, packBin(Buffer.from(key))])) as Keys;

/** [monique 1.7] The id of the older forms, base64(SHA-1), which their newest successor made random. */
export function hashId({
  creator,
  createdAt,
  spec,
}: Pick<MoniqueMessage, "creator" | "createdAt" | "spec">): string {
  return createHash("sha1").update(`${creator}:${createdAt}:${spec}`).digest("base64");
}

/** [monique 1.7] Whether an id is what its form makes it. */
export function hasIdOfItsForm({ id, creator, spec }: MoniqueHeader, content: MoniqueContent): boolean {
  return content.form === "d3" || id === hashId({ creator, createdAt: content.createdAt, spec });
}
