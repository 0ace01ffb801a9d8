// The cursor of a page of tasks: how far back the walk has come, bound to the query it belongs to. Tasks are walked by
// falling id, so what is accepted meanwhile never shifts a page. Opaque to callers; every engine uses this one.

import { createHash } from "node:crypto";
import type { TaskId } from "@yardmaster/core";
import type { TaskQuery } from "./engine.js";

/** The cursor is not from an earlier page of this query. */
export class CursorMismatch extends Error {
  override readonly name = "CursorMismatch";
}

/** A cursor after which the walk goes on below `id`. */
export function cursorBelow(id: TaskId, query: TaskQuery): string {
  return Buffer.from(`${id}.${filterDigest(query)}`).toString("base64url");
}

/** Below which id the query's cursor goes on; without a cursor, below all there are. */
export function startOf(query: TaskQuery): number {
  if (query.cursor === undefined) return Number.POSITIVE_INFINITY;
  const id = Number.parseInt(Buffer.from(query.cursor, "base64url").toString(), 10);
  // Made again and compared whole: decoding base64 forgives much that was never a cursor.
  if (!(id > 0) || cursorBelow(id as TaskId, query) !== query.cursor) {
    throw new CursorMismatch("the cursor does not come from an earlier page of this query");
  }
  return id;
}

/** The limit is no part of it: a caller may go on with smaller or larger pages. */
function filterDigest({ queue, state, door, worker, since, until, text }: TaskQuery): string {
  const filter = JSON.stringify(
    [queue, state, door, worker, since, until, text].map((value) => value ?? null),
  );
  return createHash("sha256").update(filter).digest("base64url").slice(0, digestChars);
}

/** 60 bits: this guards against mistakes; somebody who forges a cursor only reads what the query shows anyway. */
const digestChars = 10;
