// Requests to an http door over connections that are kept: bytes out, bytes in, problems as errors.

import * as http from "node:http";
import * as https from "node:https";
import { hostAndPort, type YardAddress } from "../address.js";
import { RefusedError, UnreachableError, YardError } from "../errors.js";

export interface HttpQuestion {
  readonly method?: "GET" | "POST";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Asking twice is asking once, so a connection that was closed while idle is no fault. True for GET. */
  readonly isRepeatable?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Larger answers are refused: no payload is that large, and a buffer has its limits. */
const answerBytesMax = 2 ** 31 - 1;
/** As many requests at once as the largest worker has slots, and its claim. */
const socketsMax = 1_025;

export class HttpConnection {
  readonly #address: YardAddress;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #prefix: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(address: YardAddress, token: string | undefined) {
    this.#address = address;
    const library = address.scheme === "https" ? https : http;
    this.#agent = new library.Agent({ keepAlive: true, maxSockets: socketsMax });
    this.#request = library.request as typeof http.request;
    this.#prefix = address.path.replace(/\/+$/, "");
    const secret = token ?? (address.password === "" ? undefined : address.password);
    this.#headers = secret === undefined ? {} : { Authorization: `Bearer ${secret}` };
  }

  /** Where it asks, for people. */
  get where(): string {
    return `${this.#address.scheme}://${hostAndPort(this.#address)}${this.#prefix}`;
  }

  /** Rejects with a RefusedError for a problem, an UnreachableError when there is no answer. */
  async ask(path: string, question: HttpQuestion = {}): Promise<HttpAnswer> {
    const response = await this.open(path, question);
    const body = await this.#read(response, question);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return { status, headers: response.headers, body };
    throw refusal(status, body, this.where);
  }

  async json<Value>(path: string, question: HttpQuestion = {}): Promise<Value> {
    const { body } = await this.ask(path, question);
    try {
      return JSON.parse(body.toString("utf8")) as Value;
    } catch (cause) {
      throw new YardError("unexpected_answer", `${this.where} answered with something that is no JSON`, {
        cause,
      });
    }
  }

  /** The answer before its body is read, whatever its status. */
  async open(path: string, question: HttpQuestion = {}): Promise<http.IncomingMessage> {
    const isRepeatable = question.isRepeatable ?? (question.method ?? "GET") === "GET";
    try {
      return await this.#open(path, question);
    } catch (fault) {
      question.signal?.throwIfAborted();
      if (!(isRepeatable && fault instanceof StaleSocket))
        throw new UnreachableError(this.where, causeOf(fault));
    }
    try {
      return await this.#open(path, question);
    } catch (fault) {
      question.signal?.throwIfAborted();
      throw new UnreachableError(this.where, causeOf(fault));
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #open(path: string, { method = "GET", query, body, headers, signal }: HttpQuestion) {
    return new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = this.#request({
        host: this.#address.host,
        port: this.#address.port,
        path: this.#prefix + path + queryOf(query),
        method,
        agent: this.#agent,
        headers: {
          ...this.#headers,
          ...headers,
          ...(method === "POST" ? { "Content-Length": String(body?.length ?? 0) } : {}),
        },
        ...(signal ? { signal } : {}),
      });
      request.once("response", resolve);
      request.on("error", (cause: NodeJS.ErrnoException) => {
        const isStale = request.reusedSocket && (cause.code === "ECONNRESET" || cause.code === "EPIPE");
        reject(isStale ? new StaleSocket(cause) : cause);
      });
      request.end(body);
    });
  }

  async #read(response: http.IncomingMessage, { signal }: HttpQuestion): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > answerBytesMax) {
          throw new YardError("answer_too_large", `${this.where} answered with over ${answerBytesMax} bytes`);
        }
        chunks.push(chunk);
      }
    } catch (fault) {
      if (fault instanceof YardError) throw fault;
      signal?.throwIfAborted();
      throw new UnreachableError(this.where, fault);
    }
    return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  }
}

class StaleSocket extends Error {
  constructor(cause: unknown) {
    super("the connection was closed while idle", { cause });
  }
}

function causeOf(fault: unknown): unknown {
  return fault instanceof StaleSocket ? fault.cause : fault;
}

function queryOf(query: HttpQuestion["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(Object.fromEntries(given) as Record<string, string>)}`;
}

/** A problem document, or what somebody between us and the dispatcher says. */
export function refusal(status: number, body: Buffer, where: string): YardError {
  const problem = parsed(body);
  if (typeof problem?.code === "string") {
    return new RefusedError(status, problem.code, String(problem.detail ?? problem.title ?? problem.code));
  }
  return new YardError(
    "unexpected_answer",
    `${where} answered ${status}: it does not seem to be a dispatcher`,
  );
}

function parsed(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** As the door writes durations. */
export function duration(ms: number): string {
  return `${Math.max(0, Math.round(ms))}ms`;
}
