// The API's description (OpenAPI 3.1), generated from the routes. A route without an operation is
// not part of the API, and one with an operation cannot be left out.

import type { FastifyInstance, RouteOptions } from "fastify";
import * as z from "zod";
import type { JsonSchema, Operation, OperationAnswer } from "./operation.js";
import { type ProblemCode, problemKinds, problemMediaType } from "./problems.js";
import { type RouteRight, rightOf, type Scope } from "./route-rights.js";
import { components } from "./schema-names.js";
import { problemSchema, taskIdSchema } from "./schemas.js";

export interface ApiFacts {
  readonly version: string;
  /** True if requests need a credential. */
  readonly hasAccess: boolean;
}

interface Described {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly params: z.ZodType;
  readonly query: z.ZodType;
}

/** Problems that any request may cause. */
const everywhere: readonly ProblemCode[] = [
  "bad_request",
  "forbidden",
  "headers_too_large",
  "internal_error",
];
/** Any request but a read may carry a body, which may be too large or find no room. */
const ofBodies: readonly ProblemCode[] = ["payload_too_large", "queue_full"];

export class ApiDescription {
  readonly #routes: Described[] = [];
  #text: string | undefined;

  /** Sees only routes that are added after this call. */
  watch(app: Pick<FastifyInstance, "addHook">): void {
    app.addHook("onRoute", (route) => this.#add(route));
  }

  /** Generated once: routes do not change while the door is open. */
  text(facts: ApiFacts): string {
    this.#text ??= JSON.stringify(this.document(facts));
    return this.#text;
  }

  document({ version, hasAccess }: ApiFacts): Record<string, unknown> {
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
      security: hasAccess ? [{ token: [] }, { certificate: [] }] : [],
      paths,
      components: {
        schemas: Object.fromEntries([...components].map(([schema, name]) => [name, referring(schema, true)])),
        securitySchemes: {
          token: { type: "http", scheme: "bearer" },
          certificate: {
            type: "mutualTLS",
            description: "A client certificate, if `doors.http.tls` asks for one",
          },
        },
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
  ["tasks", "Submitting tasks, and their outcomes"],
  ["actions", "Many tasks at once: cancel, retry, purge"],
  ["attempts", "For workers: claims, heartbeats and outcomes"],
  ["queues", "State of queues, and orders to them"],
  ["schedules", "Tasks that are submitted at set times"],
  ["workers", "Workers of every dialect"],
  ["yard", "The dispatcher itself"],
] as const;

/** Turns the router's `/v1/queues/:queue(.*)::claim` into `/v1/queues/{queue}:claim`. */
export function templateOf(url: string): string {
  return url.replace(/::|:(\w+)(?:\([^)]*\))?/g, (_, name?: string) =>
    name === undefined ? ":" : `{${name}}`,
  );
}

function operationObject({ method, operation, params, query }: Described): JsonSchema {
  const { id, tag, summary, description, headers = {}, body, answers, problems = [] } = operation;
  const right = rightOf(id);
  const isOpen = right === "nothing";
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
    ...descriptionOf(description, right),
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
    responses: {
      ...answerObjects(answers),
      ...problemObjects([
        ...everywhere,
        ...(method === "get" ? [] : ofBodies),
        ...problems,
        ...accessProblems(right),
      ]),
    },
    ...(isOpen ? { security: [] } : {}),
  };
}

/** The description ends with the right that the operation needs. */
function descriptionOf(text: string | undefined, right: RouteRight): { readonly description?: string } {
  if (typeof right === "string") return text === undefined ? {} : { description: text };
  const [name, scope, or] = right;
  const needed = `Needs the right \`${name}\`${or === undefined ? "" : ` or \`${or}\``} ${scopeWords[scope]}.`;
  return { description: text === undefined ? needed : `${text} ${needed}` };
}

const scopeWords: Readonly<Record<Scope, string>> = {
  queue: "for the queue",
  task: "for the task's queue",
  schedule: "for the schedule's queue",
  filter: "for the queue in the filter, or for all queues without one",
  some: "for some queue; the rights limit what is shown or done",
  all: "for all queues",
};

/** Every operation that needs a credential may reach a quota. */
function accessProblems(right: RouteRight): readonly ProblemCode[] {
  if (right === "nothing") return [];
  const always = ["unauthorized", "quota_reached", "too_many_logins"] as const;
  return right === "login" ? always : [...always, "no_right"];
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

/**
 * A number in a URL arrives as text and is validated as text; the description says that it is a
 * number.
 */
function numberSchema(shownAs: unknown, byDefault: unknown): JsonSchema {
  return { ...(shownAs as JsonSchema), ...(byDefault === undefined ? {} : { default: Number(byDefault) }) };
}

function answerObjects(answers: Readonly<Record<number, OperationAnswer>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { is, json, orMinimal, content = {}, headers }]) => {
      const shown = orMinimal ? { anyOf: [json, taskIdSchema] } : json;
      const all = shown === undefined ? content : { "application/json": shown, ...content };
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

/** One response per status; its description lists the possible codes. */
function problemObjects(codes: readonly ProblemCode[]): Record<string, JsonSchema> {
  const byStatus = new Map<number, string[]>();
  for (const code of new Set(codes)) {
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

/** Replaces every named part of the schema by a reference. */
function referring(schema: unknown, isNamed = false): unknown {
  if (Array.isArray(schema)) return schema.map((part) => referring(part));
  if (typeof schema !== "object" || schema === null) return schema;
  const name = isNamed ? undefined : components.get(schema as JsonSchema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, referring(part)]));
}
