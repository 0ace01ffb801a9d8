// Fast path for lines of batches in the most frequent form, read without a schema. Every other line
// goes to the schema, which accepts it or explains the mistake.

import type { TaskId } from "@yardmaster/core";
import { taskIdPattern } from "./parameters.js";

/** A text payload and no other property. */
export function plainSubmission(value: unknown): { readonly payload: string } | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const name in value) if (name !== "payload") return undefined;
  const { payload } = value as { readonly payload?: unknown };
  return typeof payload === "string" ? { payload } : undefined;
}

interface PlainEnding {
  readonly task: TaskId;
  readonly attempt: number;
  readonly result: string;
  readonly contentType?: string;
}

/** The most frequent media type of results, which needs no check. */
const textType = "text/plain; charset=utf-8";

/** A result that is text, without a token of its own. */
export function plainEnding(value: unknown): PlainEnding | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const name in value)
    if (name !== "task" && name !== "attempt" && name !== "result" && name !== "contentType")
      return undefined;
  const { task, attempt, result, contentType = textType } = value as Readonly<Record<string, unknown>>;
  if (typeof task !== "string" || !taskIdPattern.test(task) || !Number.isSafeInteger(Number(task)))
    return undefined;
  if (typeof attempt !== "number" || !Number.isSafeInteger(attempt) || attempt < 1) return undefined;
  if (typeof result !== "string" || contentType !== textType) return undefined;
  return { task: Number(task) as TaskId, attempt, result };
}
