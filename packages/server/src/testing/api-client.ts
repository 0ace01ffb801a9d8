// For tests: a client that knows only the API's description. It puts each argument where the
// description says, and checks each answer by status, media type and schema.

import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";

interface Schema {
  readonly type?: unknown;
  readonly format?: string;
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly $ref?: string;
  readonly contentSchema?: Schema;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Schema;
}

interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
  readonly security?: readonly object[];
}

export interface ApiDocument {
  readonly openapi: string;
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface Arguments {
  readonly [parameter: string]: string | RegExp | undefined;
  readonly body?: string;
  readonly accept?: string;
  /** For a stream: read until the text matches. */
  readonly until?: RegExp;
}

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

interface Known extends OperationObject {
  readonly path: string;
  readonly method: string;
}

const documentId = "https://yard.invalid/openapi.json";

export class ApiClient {
  /** Operations that were not called yet. */
  readonly unused: Set<string>;
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #schemas: ApiDocument["components"]["schemas"];
  readonly #operations = new Map<string, Known>();
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(document: ApiDocument, base: string, token?: string) {
    this.#base = base;
    this.#token = token;
    this.#schemas = document.components.schemas;
    formats.default(this.#ajv);
    this.#ajv.addSchema({ ...document, $id: documentId });
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, described] of Object.entries(methods)) {
        this.#operations.set(described.operationId, { ...described, path, method });
      }
    }
    this.unused = new Set(this.#operations.keys());
  }

  readonly call = async (id: string, args: Arguments = {}): Promise<Called> => {
    const operation = this.#operations.get(id);
    assert.ok(operation, `there is no operation ${id}`);
    this.unused.delete(id);
    const { path, headers } = this.#place(operation, args);
    const stop = new AbortController();
    const response = await fetch(`http://${this.#base}${path}`, {
      method: operation.method.toUpperCase(),
      headers,
      signal: stop.signal,
      ...(args.body === undefined ? {} : { body: args.body }),
    });
    const text = args.until === undefined ? await response.text() : await readUntil(response, args.until);
    stop.abort();
    return this.#check(operation, response, text);
  };

  /**
   * Checks one event of a stream, whose `data` was parsed, against the description of the stream's
   * events: as the text that was sent, and its data as the value in that text.
   */
  checkEvent(id: string, event: { readonly event: string; readonly data: unknown }): void {
    const { path, method } = this.#operations.get(id) as Known;
    const parts = ["paths", path, method, "responses", "200", "content", "text/event-stream", "schema"];
    this.#validate(parts.map(escapePart).join("/"), { ...event, data: JSON.stringify(event.data) }, id);
    const { schema } = this.#operations.get(id)?.responses["200"]?.content?.["text/event-stream"] ?? {};
    const component = (schema as Schema).$ref?.split("/").at(-1) ?? "";
    const kinds = this.#schemas[component]?.oneOf ?? [];
    const at = kinds.findIndex(({ properties }) => properties?.event?.const === event.event);
    const place = ["components", "schemas", component, "oneOf", String(at)].join("/");
    this.#validate(`${place}/properties/data/contentSchema`, event.data, id);
  }

  #place({ parameters = [], path, requestBody }: Known, args: Arguments) {
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    let placed = path;
    const isTaken = new Set(["body", "accept", "until"]);
    for (const { name, in: where, required, schema } of parameters) {
      const value = args[name];
      isTaken.add(name);
      assert.ok(value !== undefined || !required, `${name} is required`);
      if (typeof value !== "string") continue;
      const said = schema.type === "integer" ? Number(value) : value;
      if (where === "query")
        assert.ok(this.#ajv.validate(schema, said), `${name}: ${this.#ajv.errorsText()}`);
      if (where === "path") placed = placed.replace(`{${name}}`, encodeURIComponent(value));
      else if (where === "query") query.set(name, value);
      else headers[name] = value;
    }
    for (const name of Object.keys(args)) assert.ok(isTaken.has(name), `there is no parameter ${name}`);
    assert.doesNotMatch(placed, /[{}]/, "a part of the path has no parameter");
    if (args.body !== undefined) assert.ok(requestBody, "there is no body");
    if (args.accept !== undefined) headers.Accept = args.accept;
    if (this.#token !== undefined) headers.Authorization = `Bearer ${this.#token}`;
    return { path: query.size > 0 ? `${placed}?${query}` : placed, headers };
  }

  #check({ operationId, path, method, responses }: Known, response: Response, text: string): Called {
    const { status, headers } = response;
    const described = responses[String(status)];
    assert.ok(described, `${operationId} answered ${status}, which is not described: ${text}`);
    const type = headers.get("content-type")?.split(";")[0] ?? "";
    const isJson = type.endsWith("json");
    const json = isJson && text !== "" ? JSON.parse(text) : undefined;
    if (described.content === undefined) assert.equal(text, "", `${operationId} answered with a body`);
    else {
      const range = described.content[type] === undefined ? "*/*" : type;
      assert.ok(described.content[range], `${operationId} answered with ${type}, which is not described`);
      const pointer = ["paths", path, method, "responses", status, "content", range, "schema"];
      if (isJson)
        this.#validate(pointer.map((part) => escapePart(String(part))).join("/"), json, operationId);
    }
    return { status, headers, text, json };
  }

  #validate(pointer: string, value: unknown, what: string): void {
    const validate = this.#ajv.getSchema(`${documentId}#/${pointer}`);
    assert.ok(validate, `no schema at ${pointer}`);
    assert.ok(validate(value), `${what}: ${this.#ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
  }
}

/** Escapes a part of a JSON pointer in a URI. */
function escapePart(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}

async function readUntil(response: Response, pattern: RegExp): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (pattern.test(text)) break;
  }
  return text;
}
