// The cursor of a page of tasks: how far the walk has come, bound to its query. Tasks are walked by
// falling id, so new tasks never shift a page. It is opaque to callers, and all engines use it.

import { createHash } from "node:crypto";
import type { TaskId } from "@yardmaster/core";
import type { TaskQuery } from "./engine.js";

/** The cursor is not from an earlier page of this query. */
export class CursorMismatch extends Error {
  override readonly name = "CursorMismatch";
}

/** A cursor with which the walk continues below `id`. */
export function cursorBelow(id: TaskId, query: TaskQuery): string {
  return Buffer.from(`${id}.${filterDigest(query)}`).toString("base64url");
}

/** The id below which the query's cursor continues; infinite without a cursor. */
export function startOf(query: TaskQuery): number {
  if (query.cursor === undefined) return Number.POSITIVE_INFINITY;
  const id = Number.parseInt(Buffer.from(query.cursor, "base64url").toString(), 10);
  // The cursor is made again and compared as a whole, because decoding base64 accepts much that was
  // never a cursor.
  if (!(id > 0) || cursorBelow(id as TaskId, query) !== query.cursor) {
    throw new CursorMismatch("the cursor does not come from an earlier page of this query");
  }
  return id;
}

/** The limit is not included: a caller may continue with smaller or larger pages. */
function filterDigest(query: TaskQuery): string {
  const { queue, state, door, worker, since, until, text, messagePrefix } = query;
  const fields = [queue, state, door, worker, since, until, text].map((value) => value ?? null);
  const filter = JSON.stringify(messagePrefix === undefined ? fields : [...fields, messagePrefix]);
  return createHash("sha256").update(filter).digest("base64url").slice(0, digestChars);
}

/** 60 bits guard against mistakes. A forged cursor only shows what the query shows anyway. */
const digestChars = 10;
