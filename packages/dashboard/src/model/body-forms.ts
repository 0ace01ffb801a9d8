// How a payload or result can be shown, by its media type and its bytes: as a tree, an image, text
// or hex. What could run in a browser (HTML, SVG) is text here, always.

import { readMessagePack } from "./msgpack.js";

export type BodyForm = "tree" | "image" | "text" | "hex";

export interface ReadBody {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** False where only its beginning was fetched. */
  readonly isWhole: boolean;
}

const images = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);

export function mediaType(contentType: string): string {
  return (contentType.split(";")[0] ?? "").trim().toLowerCase();
}

/** The forms that fit, best first. */
export function bodyForms(body: ReadBody): BodyForm[] {
  const type = mediaType(body.contentType);
  const forms: BodyForm[] = [];
  if (body.isWhole && images.has(type)) forms.push("image");
  if (body.isWhole && treeOf(body) !== undefined) forms.push("tree");
  if (textOf(body) !== undefined) forms.push("text");
  forms.push("hex");
  return forms;
}

/**
 * The value, wrapped so that `null` counts as a value; undefined if the bytes cannot be read as
 * one.
 */
export function treeOf({ bytes, contentType }: ReadBody): { readonly value: unknown } | undefined {
  const type = mediaType(contentType);
  try {
    if (/msgpack$/.test(type)) return { value: readMessagePack(bytes) };
    const mayBeJson =
      /json$/.test(type) ||
      /^(text\/plain|application\/octet-stream|application\/x-www-form-urlencoded)?$/.test(type);
    if (!mayBeJson) return undefined;
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!/json$/.test(type) && !/^\s*[[{]/.test(text)) return undefined;
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Its text, where it is UTF-8; the last character may be cut off. */
export function textOf({ bytes, isWhole }: ReadBody): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
    return text.includes("\u0000") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Rows of 16: "00000010  7b 22 …  {"…" */
export function hexRows(
  bytes: Uint8Array,
  { rowsMax = 512, perRow = 16 } = {},
): { at: string; hex: string; text: string }[] {
  const rows: { at: string; hex: string; text: string }[] = [];
  for (let at = 0; at < bytes.length && rows.length < rowsMax; at += perRow) {
    const part = [...bytes.subarray(at, at + perRow)];
    rows.push({
      at: at.toString(16).padStart(8, "0"),
      hex: part.map((byte) => byte.toString(16).padStart(2, "0")).join(" "),
      text: part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join(""),
    });
  }
  return rows;
}

export function formName(form: BodyForm, contentType: string): string {
  if (form === "tree") return /msgpack/.test(contentType) ? "MessagePack" : "JSON";
  return form.charAt(0).toUpperCase() + form.slice(1);
}
