// What a route says of itself, once: its schemas check requests and write answers, and the same make `/openapi.json`.

import * as z from "zod";
import type { ProblemCode } from "./problems.js";

/** As JSON Schema has them; the serializer and the API's description read the same. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type Tag = "tasks" | "attempts" | "queues" | "workers" | "yard";

/** One way to answer, problems aside. */
export interface OperationAnswer {
  readonly is: string;
  /** The schema of a JSON answer; it also writes it. */
  readonly json?: JsonSchema;
  /** Answers that are not JSON, or not only, by media type. */
  readonly content?: Readonly<Record<string, JsonSchema>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OperationBody {
  readonly is: string;
  readonly isRequired?: boolean;
  readonly content: Readonly<Record<string, JsonSchema>>;
}

export interface Operation {
  /** Unique, and what a generated client calls its method. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** What headers it wants, and what each is. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: OperationBody;
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /** With what it may refuse, beside what every operation may. */
  readonly problems?: readonly ProblemCode[];
  /** It may be asked without a token. */
  readonly isOpen?: boolean;
  /** The handler reads the body itself, as it comes. */
  readonly streamsBody?: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

const nothing = z.strictObject({});
type Nothing = typeof nothing;

interface Parameters<Path extends z.ZodType, Query extends z.ZodType> {
  readonly path?: Path;
  readonly query?: Query;
}

/** A route's options of an operation. */
export function operation<Path extends z.ZodType = Nothing, Query extends z.ZodType = Nothing>({
  path = nothing as never,
  query = nothing as never,
  ...described
}: Operation & Parameters<Path, Query>) {
  const response: Record<string, JsonSchema> = {};
  for (const [status, { json }] of Object.entries(described.answers)) if (json) response[status] = json;
  return {
    schema: { params: path, querystring: query, response },
    config: { operation: described as Operation },
  };
}

/** Bytes of whatever kind; the media type says which. */
export const anyBytes: Readonly<Record<string, JsonSchema>> = { "*/*": {} };
