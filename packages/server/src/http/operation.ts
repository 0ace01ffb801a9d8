// The description of a route. Its schemas validate requests and serialise answers, and
// `/openapi.json` is generated from them.

import * as z from "zod";
import type { ProblemCode } from "./problems.js";

/** JSON Schema, used by the serialiser and by the API's description. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type Tag = "tasks" | "actions" | "attempts" | "queues" | "schedules" | "workers" | "yard";

/** One possible answer, problems excluded. */
export interface OperationAnswer {
  readonly is: string;
  /** The schema of a JSON answer; also used to serialise it. */
  readonly json?: JsonSchema;
  /** With `?view=minimal` the answer is only the id. */
  readonly orMinimal?: boolean;
  /** Answers that are not, or not only, JSON, by media type. */
  readonly content?: Readonly<Record<string, JsonSchema>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OperationBody {
  readonly is: string;
  readonly isRequired?: boolean;
  readonly content: Readonly<Record<string, JsonSchema>>;
}

export interface Operation {
  /** Unique; generated clients use it as the method name. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** The headers that the operation reads, each with its description. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: OperationBody;
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /** Problems in addition to those that every operation may cause. */
  readonly problems?: readonly ProblemCode[];
  /** The handler reads the body itself, as it arrives. */
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

/** The route options of an operation. */
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

/** Bytes of any media type. */
export const anyBytes: Readonly<Record<string, JsonSchema>> = { "*/*": {} };
