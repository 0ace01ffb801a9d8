// Reads and writes messages in all historical forms. A message is two frames: a tag that can always
// be read, and a content of any kind.

import { createHash } from "node:crypto";
import { type MoniqueContent, readContent } from "./content.js";
import {
  type ContentFault,
  type FormShape,
  formShapes,
  type MoniqueFault,
  type MoniqueForm,
  type MoniqueHeader,
  type MoniqueMessage,
} from "./messages.js";
import { binHead, packBin, packNumber, packText } from "./msgpack.js";
import { readTag } from "./tag.js";

/** A message that can be passed on, with as much of it as can be read. */
export interface ReadMessage {
  readonly ok: true;
  readonly header: MoniqueHeader;
  /**
   * [monique 2.4] Undefined where the message is routed by its tag alone; the next field says why.
   */
  readonly content: MoniqueContent | undefined;
  readonly contentFault: ContentFault | undefined;
  /** [monique 1.3] */
  readonly isTagWrapped: boolean;
}

export type Reading = ReadMessage | { readonly ok: false; readonly fault: MoniqueFault };

export function readMessage(frames: readonly Buffer[]): Reading {
  const [frame, content] = frames;
  if (frames.length !== 2 || frame === undefined || content === undefined) {
    return { ok: false, fault: "frame_count" };
  }
  const header = readTag(frame);
  if (typeof header === "string") return { ok: false, fault: header };
  const { isWrapped: isTagWrapped } = header;
  const reading = readContent(content, header);
  if (typeof reading === "object") {
    return { ok: true, header, content: reading, contentFault: undefined, isTagWrapped };
  }
  if (reading === "two_outcomes") return { ok: false, fault: reading };
  return { ok: true, header, content: undefined, contentFault: reading, isTagWrapped };
}

/** Copies the fields of a header to strings, so that nothing keeps the frame alive. */
export function plainHeader({ type, spec, id, pid, creator }: MoniqueHeader): MoniqueHeader {
  return { type, spec, id, pid, creator };
}

export function tagOf({ type, spec, id, pid, creator }: MoniqueHeader): string {
  return `${type}:${spec}:${id}:${pid}:${creator}`;
}

/**
 * [monique 1.6] Writes both frames in the given form. Keys are in alphabetical order, as the
 * original programs write them.
 */
export function writeMessage(message: MoniqueMessage, form: MoniqueForm): [tag: Buffer, content: Buffer] {
  const tag = Buffer.from(tagOf(message));
  return [formShapes[form].wrapsTag ? packBin(tag) : tag, writeContent(message, formShapes[form])];
}

function writeContent(message: MoniqueMessage, { wrapsTag, hasBinKeys, namesType }: FormShape): Buffer {
  const { creator, createdAt, expiresAt, encoding, data, id, pid, spec, type } = message;
  const keys = hasBinKeys ? binKeys : strKeys;
  const name = wrapsTag ? (text: string) => packBin(Buffer.from(text)) : packText;
  const entries: Buffer[] = [keys.created_at, packNumber(createdAt), keys.creator, packText(creator)];
  const body = [binHead(data.length), data];
  if (!namesType && type === "config") entries.push(keys.config, ...body);
  if (namesType || type === "data") entries.push(keys.data, ...body);
  entries.push(keys.encoding, packText(encoding));
  if (!namesType && type === "error") entries.push(keys.error, ...body);
  entries.push(keys.expires_at, packNumber(expiresAt), keys.id, name(id), keys.pid, name(pid));
  if (!namesType && type === "result") entries.push(keys.result, ...body);
  entries.push(keys.spec, packText(spec));
  if (namesType) entries.push(keys.type, packText(type));
  return Buffer.concat([Buffer.of(namesType ? 0x89 : 0x88), ...entries]);
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

/** [monique 1.7] The id in the older forms, base64(SHA-1). The newest form uses a random id. */
export function hashId({
  creator,
  createdAt,
  spec,
}: Pick<MoniqueMessage, "creator" | "createdAt" | "spec">): string {
  return createHash("sha1").update(`${creator}:${createdAt}:${spec}`).digest("base64");
}

/** [monique 1.7] True if an id is what its form prescribes. */
export function hasIdOfItsForm({ id, creator, spec }: MoniqueHeader, content: MoniqueContent): boolean {
  return !formShapes[content.form].wrapsTag || id === hashId({ creator, createdAt: content.createdAt, spec });
}
