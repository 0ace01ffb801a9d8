// Describes the mistakes in a config file: the line, the key, the value found and the value
// expected.

import * as z from "zod";
import { nearest } from "../spelling.js";
import type { ConfigFile } from "./config-file.js";

export interface Mistake {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

/** Every mistake that the schema found, one per key. */
export function mistakesIn(schema: z.ZodType, value: unknown, error: z.ZodError): Mistake[] {
  return error.issues.flatMap((issue): Mistake[] => {
    if (issue.code === "unrecognized_keys") {
      const known = keysAt(schema, issue.path);
      return issue.keys.map((key) => ({
        path: [...issue.path, key],
        text: (issue.path.length === 0 && misplacedKey(schema, key)) || unknownKey(key, known),
      }));
    }
    if (issue.code === "invalid_key") {
      const expected = issue.issues[0]?.message ?? issue.message;
      return [{ path: issue.path, text: mismatch(issue.path.at(-1), expected) }];
    }
    const found = isSecret(issue.path)
      ? secretKindOf(valueAt(value, issue.path))
      : show(valueAt(value, issue.path));
    return [{ path: issue.path, text: `found ${found}, expected ${issue.message}` }];
  });
}

/**
 * The schema silently skips keys with this name, so the user's setting would be lost without this
 * check.
 */
export function unusableKeysIn(value: unknown, path: readonly string[] = []): Mistake[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = [...path, key];
    return key === "__proto__"
      ? [{ path: here, text: mismatch(key, "another name: this one cannot be used") }]
      : unusableKeysIn(inner, here);
  });
}

/** In file order, each as `file:line: key: what is wrong`; those of flags and variables first. */
export function showMistakes(file: ConfigFile, mistakes: readonly Mistake[]): string[] {
  return mistakes
    .map(({ path, text }) => {
      const by = file.givenBy?.(path);
      if (by !== undefined) return { line: 0, shown: `${by}: ${text}` };
      const line = file.lineOf(path);
      const key = path.map(String).join(".");
      return { line, shown: `${file.name}:${line}: ${key ? `${key}: ` : ""}${text}` };
    })
    .sort((a, b) => a.line - b.line)
    .map(({ shown }) => shown);
}

export function mismatch(found: unknown, expected: string): string {
  return `found ${show(found)}, expected ${expected}`;
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant ? `unknown key; did you mean ${meant}?` : `unknown key; known here: ${known.join(", ")}`;
}

/** A door's setting at the top level, as in the config file of that dialect's own dispatcher. */
function misplacedKey(schema: z.ZodType, key: string): string | undefined {
  const doors = keysAt(schema, ["doors"]).filter((door) => keysAt(schema, ["doors", door]).includes(key));
  const places = doors.map((door) => `doors.${door}`);
  const last = places.pop();
  if (last === undefined) return undefined;
  const before = places.length === 0 ? "" : `${places.join(", ")} or `;
  return `unknown key here; it belongs under ${before}${last}`;
}

/** The names that a mapping at this path may contain. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let here: z.ZodType | undefined = schema;
  for (const step of path) here = here && childSchema(bare(here), step);
  const found = here && bare(here);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function childSchema(schema: z.ZodType, step: PropertyKey): z.ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.shape[String(step)];
  return schema instanceof z.ZodRecord ? (schema.valueType as z.ZodType) : undefined;
}

/** Unwraps optional and default. */
function bare(schema: z.ZodType): z.ZodType {
  let here = schema;
  while (here instanceof z.ZodPrefault || here instanceof z.ZodOptional) here = here.unwrap() as z.ZodType;
  return here;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<PropertyKey, unknown>)[step];
  }
  return here;
}

/**
 * A secret is not shown on a terminal or in a log, and neither is one that was put in the wrong
 * place.
 */
export function isSecret(path: readonly PropertyKey[]): boolean {
  const isIn = (name: string) => path.includes(name);
  // The address of a database may contain a password.
  return isIn("token") || isIn("tokens") || isIn("passwords") || (path[0] === "postgres" && isIn("url"));
}

function secretKindOf(value: unknown): string {
  return typeof value === "string" ? `a string of ${value.length} characters` : kindOf(value);
}

const shownMax = 60;

function show(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
    return kindOf(value);
  const text = JSON.stringify(value);
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a mapping" : `a ${typeof value}`;
}
