// Names of peers as text that any database keeps exactly. A name may contain NUL or half a
// surrogate pair, which Postgres does not accept as text.

import { createHash } from "node:crypto";
import type { Change } from "@yardmaster/core";
import { recordKinds } from "../records/index.js";

const plain = /^[ !#-[\]-~]*$/;
const notAscii = /[^ -~]/g;
/** An index entry of Postgres has at most 2,704 bytes. */
const itemNameMax = 1900;

/** Different names give different texts: a text that is not the name itself begins with a quote. */
export function textOf(name: string): string {
  if (plain.test(name)) return name;
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(name).replace(notAscii, escaped);
}

export type ItemChange = Exclude<Change, { kind: "head" | "progress" | "history-trimmed" }>;

/** The kind and the name under which a record that belongs to no task is stored. */
export function itemOf(change: ItemChange): { readonly kind: number; readonly name: string } {
  switch (change.kind) {
    case "key":
      return { kind: recordKinds.key, name: itemName(change.key.queue, change.key.key) };
    case "key-gone":
      return { kind: recordKinds.key, name: itemName(change.queue, change.key) };
    case "queue":
      return { kind: recordKinds.queue, name: itemName(change.queue.name) };
    case "queue-gone":
      return { kind: recordKinds.queue, name: itemName(change.name) };
    case "door":
      return { kind: recordKinds.door, name: itemName(change.door.name) };
    case "memo":
      return { kind: recordKinds.memo, name: itemName(change.memo.door, change.memo.name) };
    default:
      return { kind: recordKinds.memo, name: itemName(change.door, change.name) };
  }
}

export function itemName(...names: readonly string[]): string {
  const name = names.map(textOf).join("\n");
  return name.length <= itemNameMax ? name : createHash("sha256").update(name).digest("hex");
}
