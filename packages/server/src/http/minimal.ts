// Answers for programs that need only ids. Nothing is read for them, and they have a tenth of the
// bytes.

import { isUtf8 } from "node:buffer";
import type { Outcome, TaskId } from "@yardmaster/core";
import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * True for `?view=minimal`, or the Prefer header of RFC 7240, which an older dispatcher ignores.
 */
export function wantsMinimal({ query, headers }: Pick<FastifyRequest, "query" | "headers">): boolean {
  if ((query as { readonly view?: string }).view === "minimal") return true;
  const { prefer } = headers;
  return prefer !== undefined && /(?:^|[,;\s])return=minimal(?:$|[,;\s])/.test(String(prefer));
}

/** `existing`: an earlier task has the same key. */
export function minimalJson(id: number, existing = false): string {
  return existing ? `{"id":"${id}","existing":true}` : `{"id":"${id}"}`;
}

export function sendMinimal(reply: FastifyReply, id: number, existing = false): FastifyReply {
  return reply.type("application/json; charset=utf-8").serializer(String).send(minimalJson(id, existing));
}

/** The client fetches a larger result itself. */
const resultBytesMax = 65_536;

/**
 * Sends the outcome of an awaited task with its result. Returns false if the result must be read
 * from the engine first.
 */
export function sendOutcome(reply: FastifyReply, id: TaskId, { state, result, error }: Outcome): boolean {
  const { size = 0, bytes, mediaType } = result ?? {};
  if (size > resultBytesMax || (size > 0 && bytes === undefined)) return false;
  const shown = {
    id: String(id),
    state,
    error: error ?? null,
    ...(result && { contentType: mediaType, ...textOf(bytes) }),
  };
  const json = JSON.stringify(shown);
  reply.type("application/json; charset=utf-8").serializer(String).send(json);
  return true;
}

function textOf(bytes: Uint8Array = new Uint8Array(0)) {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? { result: buffer.toString("utf8") } : { resultBase64: buffer.toString("base64") };
}
