// Validates the parameters of a route with its schemas, and reports the first mistake as a problem.

import type { FastifySchemaCompiler, FastifyTypeProvider } from "fastify";
import * as z from "zod";
import { nearest } from "../spelling.js";
import { Problem } from "./problems.js";

/** Gives a handler the types of its route's schemas. */
export interface ZodTypes extends FastifyTypeProvider {
  readonly validator: this["schema"] extends z.ZodType ? z.output<this["schema"]> : unknown;
}

export const validatorOf: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  // Most requests have no query. The result for an empty one is always the same and is never
  // modified.
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

/** Names that a client chooses: those of queues and schedules. */
const chosenNames: readonly string[] = ["queue", "name"];

/** An invalid name is a mistake; an id that no object can have is simply not found. */
function pathProblem(issue: Issue, data: unknown): Problem {
  const name = String(issue?.path[0]);
  const found = show((data as Record<string, unknown>)[name]);
  if (chosenNames.includes(name)) return new Problem("bad_request", `${found} is not ${issue?.message}`);
  return new Problem("not_found", `there is nothing with the id ${found}`);
}

function queryProblem(issue: Issue, schema: z.ZodType, data: unknown): Problem {
  return new Problem("bad_request", explainIssue(issue, { schema, data, what: "parameter" }));
}

interface Found {
  readonly schema: z.ZodType;
  readonly data: unknown;
  /** Whether its names are parameters or properties. */
  readonly what: "parameter" | "property";
}

/** The first mistake, in words. */
export function explainIssue(issue: Issue, { schema, data, what }: Found): string {
  const path = issue?.path ?? [];
  if (issue?.code === "unrecognized_keys")
    return unknownName(issue.keys[0] ?? "", schemaAt(schema, path), what);
  if (path.length === 0) return `found ${show(data)}, expected ${issue?.message}`;
  const { name, value } = valueAt(data, path);
  if (value === undefined) return `${name} is missing: expected ${issue?.message}`;
  return `${name}: found ${show(value)}, expected ${issue?.message}`;
}

/** The value at this path. A parameter that is a list is still written with commas. */
function valueAt(data: unknown, path: readonly PropertyKey[]): { name: string; value: unknown } {
  let value = data;
  for (const [index, step] of path.entries()) {
    if (typeof value === "string")
      return { name: path.slice(0, index).map(String).join("."), value: value.split(",")[Number(step)] };
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return { name: path.map(String).join("."), value };
}

/** The schema at this path. */
function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType {
  let here = schema;
  for (const step of path) {
    const child = here instanceof z.ZodObject ? here.shape[String(step)] : undefined;
    if (child === undefined) return schema;
    here = child;
    while (here instanceof z.ZodOptional || here instanceof z.ZodNullable) here = here.unwrap() as z.ZodType;
  }
  return here;
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
