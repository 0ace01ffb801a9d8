// The API's own description (OpenAPI 3.1), made from the routes as they are: a route without an operation is no part of
// the API, and one with it cannot be left out.

import type { FastifyInstance, RouteOptions } from "fastify";
import * as z from "zod";
import type { JsonSchema, Operation, OperationAnswer } from "./operation.js";
import { type ProblemCode, problemKinds, problemMediaType } from "./problems.js";
import { components, problemSchema } from "./schemas.js";

export interface ApiFacts {
  readonly version: string;
  readonly hasToken: boolean;
}

interface Described {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly params: z.ZodType;
  readonly query: z.ZodType;
}

/** What any request may be refused with. */
const everywhere: readonly ProblemCode[] = ["bad_request", "forbidden", "internal_error"];

export class ApiDescription {
  readonly #routes: Described[] = [];
  #text: string | undefined;

  /** From now on: routes that were added before are not seen. */
  watch(app: Pick<FastifyInstance, "addHook">): void {
    app.addHook("onRoute", (route) => this.#add(route));
  }

  /** Made once: routes do not change while the door is open. */
  text(facts: ApiFacts): string {
    this.#text ??= JSON.stringify(this.document(facts));
    return this.#text;
  }

  document({ version, hasToken }: ApiFacts): Record<string, unknown> {
    const paths: Record<string, Record<string, unknown>> = {};
    for (const described of this.#routes) {
      paths[described.path] = { ...paths[described.path], [described.method]: operationObject(described) };
    }
    return {
      openapi: "3.1.0",
      info: {
        title: "Yardmaster",
        version,
        summary: "One dispatcher for many worker protocols.",
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/" }],
      tags: tags.map(([name, description]) => ({ name, description })),
      security: hasToken ? [{ token: [] }] : [],
      paths,
      components: {
        schemas: Object.fromEntries([...components].map(([schema, name]) => [name, referring(schema, true)])),
        securitySchemes: { token: { type: "http", scheme: "bearer" } },
      },
    };
  }

  #add(route: RouteOptions): void {
    const operation = route.config?.operation;
    if (operation === undefined || route.method === "HEAD") return;
    const { params, querystring } = route.schema as { params: z.ZodType; querystring: z.ZodType };
    const method = String(route.method).toLowerCase();
    this.#routes.push({ method, path: templateOf(route.url), operation, params, query: querystring });
  }
}

const tags = [
  ["tasks", "Handing work in, and what became of it"],
  ["attempts", "Working: claims, beats and outcomes"],
  ["queues", "How queues stand, and orders to them"],
  ["workers", "Workers of every dialect"],
  ["yard", "The dispatcher itself"],
] as const;

/** `/v1/queues/:queue(.*)::claim`, as the router has it, is `/v1/queues/{queue}:claim`. */
export function templateOf(url: string): string {
  return url.replace(/::|:(\w+)(?:\([^)]*\))?/g, (_, name?: string) =>
    name === undefined ? ":" : `{${name}}`,
  );
}

function operationObject({ operation, params, query }: Described): JsonSchema {
  const { id, tag, summary, description, headers = {}, body, answers, problems = [], isOpen } = operation;
  const parameters = [
    ...parametersOf(params, "path"),
    ...parametersOf(query, "query"),
    ...Object.entries(headers).map(([name, is]) => ({
      name,
      in: "header",
      required: true,
      description: is,
      schema: { type: "string" },
    })),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            description: body.is,
            required: body.isRequired ?? false,
            content: contentOf(body.content),
          },
        }),
    responses: { ...answerObjects(answers), ...problemObjects([...everywhere, ...problems], isOpen) },
    ...(isOpen ? { security: [] } : {}),
  };
}

function parametersOf(schema: z.ZodType, place: "path" | "query"): JsonSchema[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
  }) as { properties?: Record<string, JsonSchema>; required?: readonly string[] };
  return Object.entries(properties).map(([name, { description, shownAs, ...property }]) => ({
    name,
    in: place,
    required: place === "path" || (required.includes(name) && property.default === undefined),
    ...(description === undefined ? {} : { description }),
    schema: shownAs === undefined ? property : numberSchema(shownAs, property.default),
  }));
}

/** A number comes as text in a URL and is checked as such; a client is told that it is a number. */
function numberSchema(shownAs: unknown, byDefault: unknown): JsonSchema {
  return { ...(shownAs as JsonSchema), ...(byDefault === undefined ? {} : { default: Number(byDefault) }) };
}

function answerObjects(answers: Readonly<Record<number, OperationAnswer>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { is, json, content = {}, headers }]) => {
      const all = json === undefined ? content : { "application/json": json, ...content };
      return [
        status,
        {
          description: is,
          ...(headers === undefined ? {} : { headers: headerObjects(headers) }),
          ...(Object.keys(all).length === 0 ? {} : { content: contentOf(all) }),
        },
      ];
    }),
  );
}

function headerObjects(headers: Readonly<Record<string, string>>): JsonSchema {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

/** One response a status; the codes it may have are in its words. */
function problemObjects(codes: readonly ProblemCode[], isOpen = false): Record<string, JsonSchema> {
  const byStatus = new Map<number, string[]>();
  for (const code of new Set([...codes, ...(isOpen ? [] : (["unauthorized"] as const))])) {
    const { status, title } = problemKinds[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${title}`]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, words]) => [
      String(status),
      { description: words.join("; "), content: contentOf({ [problemMediaType]: problemSchema }) },
    ]),
  );
}

function contentOf(content: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return Object.fromEntries(
    Object.entries(content).map(([mediaType, schema]) => [mediaType, { schema: referring(schema) }]),
  );
}

/** The schema with every part that has a name replaced by a reference to it. */
function referring(schema: unknown, isNamed = false): unknown {
  if (Array.isArray(schema)) return schema.map((part) => referring(part));
  if (typeof schema !== "object" || schema === null) return schema;
  const name = isNamed ? undefined : components.get(schema as JsonSchema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, referring(part)]));
}
