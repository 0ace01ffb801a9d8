// Checks the parameters of a route against its schemas, and says in a problem what is wrong with which.

import type { FastifySchemaCompiler, FastifyTypeProvider } from "fastify";
import * as z from "zod";
import { nearest } from "../spelling.js";
import { Problem } from "./problems.js";

/** Gives a handler the types that its route's schemas make. */
export interface ZodTypes extends FastifyTypeProvider {
  readonly validator: this["schema"] extends z.ZodType ? z.output<this["schema"]> : unknown;
}

export const validatorOf: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  // Most requests have no query. What becomes of none is always the same, and nobody changes it.
  const ofNothing = httpPart === "querystring" ? schema.safeParse({}) : undefined;
  const plain = ofNothing?.success ? { value: Object.freeze(ofNothing.data) } : undefined;
  return (data: unknown) => {
    if (plain !== undefined && isEmpty(data)) return plain;
    const parsed = schema.safeParse(data);
    if (parsed.success) return { value: parsed.data };
    const issue = parsed.error.issues[0];
    return { error: httpPart === "params" ? pathProblem(issue, data) : queryProblem(issue, schema, data) };
  };
};

function isEmpty(data: unknown): boolean {
  for (const _ in data as object) return false;
  return true;
}

type Issue = z.core.$ZodIssue | undefined;

/** A name that cannot be a queue's is a mistake; an id that cannot be anything's is one that does not exist. */
function pathProblem(issue: Issue, data: unknown): Problem {
  const name = String(issue?.path[0]);
  const found = show((data as Record<string, unknown>)[name]);
  if (name === "queue") return new Problem("bad_request", `${found} is not ${issue?.message}`);
  return new Problem("not_found", `there is nothing with the id ${found}`);
}

function queryProblem(issue: Issue, schema: z.ZodType, data: unknown): Problem {
  return new Problem("bad_request", explainIssue(issue, { schema, data, what: "parameter" }));
}

interface Found {
  readonly schema: z.ZodType;
  readonly data: unknown;
  /** What its names are names of. */
  readonly what: "parameter" | "property";
}

/** The first thing that is wrong, in words. */
export function explainIssue(issue: Issue, { schema, data, what }: Found): string {
  if (issue?.code === "unrecognized_keys") return unknownName(issue.keys[0] ?? "", schema, what);
  const name = issue?.path[0];
  if (name === undefined) return `found ${show(data)}, expected ${issue?.message}`;
  const value = (data as Record<PropertyKey, unknown>)[name];
  if (value === undefined) return `${String(name)} is missing: expected ${issue?.message}`;
  return `${String(name)}: found ${show(value)}, expected ${issue?.message}`;
}

function unknownName(name: string, schema: z.ZodType, what: Found["what"]): string {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const meant = nearest(name, known);
  const hint = known.length === 0 ? "there are none here" : `known here: ${known.join(", ")}`;
  return `unknown ${what} ${show(name)}${meant ? `; did you mean ${meant}?` : ""} (${hint})`;
}

const shownMax = 80;

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
