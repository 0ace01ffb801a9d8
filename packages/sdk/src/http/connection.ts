// Requests to http doors over kept-alive connections. Problem documents become errors. If several
// doors are given, requests follow the dispatcher that owns the yard.

import * as http from "node:http";
import * as https from "node:https";
import { hostAndPort, type YardAddress } from "../address.js";
import type { TlsCredentials } from "../client.js";
import { RefusedError, UnreachableError, YardError } from "../errors.js";
import { refuseUnknown } from "../url-parameters.js";
import { Doors, type Look, type NotOwned } from "./doors.js";

/** Methods whose requests state the length of their body, even if it is empty. */
const hasBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

export interface HttpRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /**
   * True if repeating the request is harmless. It is then retried if a kept-alive connection was
   * closed. Always true for GET.
   */
  readonly isRepeatable?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Larger answers are refused: no payload is that large, and buffers have limits. */
const answerBytesMax = 2 ** 31 - 1;
/** As many simultaneous requests as the largest worker has slots, plus its claim. */
const socketsMax = 1_025;

/** What an http connection shows of itself. */
export interface HttpCredentials {
  readonly token?: string | undefined;
  readonly tls?: TlsCredentials | undefined;
}

/** Changes of the owner that one request follows, before it fails. */
const switchesMax = 5;
/** Maximum time of a look whether a door's dispatcher owns the yard. */
const lookMsMax = 2_000;

/** One door, and the connections to it that are kept open. */
class Door {
  readonly address: YardAddress;
  readonly where: string;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #prefix: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(address: YardAddress, { token, tls }: HttpCredentials) {
    for (const one of [address, ...(address.others ?? [])]) refuseUnknown(one, []);
    this.address = address;
    const library = address.scheme === "https" ? https : http;
    this.#agent = new library.Agent({ keepAlive: true, maxSockets: socketsMax, ...tls });
    this.#request = library.request as typeof http.request;
    this.#prefix = address.path.replace(/\/+$/, "");
    this.where = `${address.scheme}://${hostAndPort(address)}${this.#prefix}`;
    const secret = token ?? (address.password === "" ? undefined : address.password);
    this.#headers = secret === undefined ? {} : { Authorization: `Bearer ${secret}` };
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Rejects with an UnreachableError if there is no answer. */
  async open(path: string, question: HttpRequest): Promise<http.IncomingMessage> {
    try {
      return await this.#open(path, question);
    } catch (fault) {
      question.signal?.throwIfAborted();
      if (!(isRepeatable(question) && fault instanceof StaleSocket))
        throw new UnreachableError(this.where, causeOf(fault));
    }
    try {
      return await this.#open(path, question);
    } catch (fault) {
      question.signal?.throwIfAborted();
      throw new UnreachableError(this.where, causeOf(fault));
    }
  }

  async read(response: http.IncomingMessage, { signal }: HttpRequest): Promise<Buffer> {
    try {
      return await wholeOf(response, answerBytesMax);
    } catch (fault) {
      if (fault instanceof TooLarge)
        throw new YardError("answer_too_large", `${this.where} answered with over ${answerBytesMax} bytes`);
      signal?.throwIfAborted();
      throw new UnreachableError(this.where, fault);
    }
  }

  /** Whether its dispatcher owns the yard. */
  async look(): Promise<Look> {
    const question = { signal: AbortSignal.timeout(lookMsMax) };
    try {
      const response = await this.open("/readyz", question);
      await this.read(response, question);
      // A dispatcher that is not the owner answers with 500 or more, and so does a proxy. After any
      // other answer the request itself is tried.
      const isWaiting = (response.statusCode ?? 0) >= 500;
      return isWaiting ? { state: "waiting", retryMs: retryMsOf(response) } : { state: "ready" };
    } catch {
      return { state: "unreachable" };
    }
  }

  #open(path: string, { method = "GET", query, body, headers, signal }: HttpRequest) {
    return new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = this.#request({
        host: this.address.host,
        port: this.address.port,
        path: this.#prefix + path + queryOf(query),
        method,
        agent: this.#agent,
        headers: {
          ...this.#headers,
          ...headers,
          ...(hasBody.has(method) ? { "Content-Length": String(body?.length ?? 0) } : {}),
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
}

/** Requests to the http door of a dispatcher, or of the owner among several. */
export class HttpConnection {
  readonly #doors: Doors<Door>;

  constructor(address: YardAddress, credentials: HttpCredentials) {
    const others = (address.others ?? []).map((each) => new Door(each, credentials));
    this.#doors = new Doors([new Door(address, credentials), ...others], (door) => door.look());
  }

  /** The address, for messages. */
  get where(): string {
    return this.#doors.current.where;
  }

  /**
   * Rejects with a RefusedError for a problem, and with an UnreachableError if there is no answer.
   */
  ask(path: string, question: HttpRequest = {}): Promise<HttpAnswer> {
    return this.#follow(question, async (door) => {
      const response = await opened(door, path, question);
      const body = await door.read(response, question);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return { status, headers: response.headers, body };
      throw refusal(status, body, door.where);
    });
  }

  async json<Value>(path: string, question: HttpRequest = {}): Promise<Value> {
    const { body } = await this.ask(path, question);
    try {
      return JSON.parse(body.toString("utf8")) as Value;
    } catch (cause) {
      throw new YardError("unexpected_answer", `${this.where} answered with something that is not JSON`, {
        cause,
      });
    }
  }

  /** The response before its body is read. A dispatcher that is not ready is an error. */
  open(path: string, question: HttpRequest = {}): Promise<http.IncomingMessage> {
    return this.#follow(question, (door) => opened(door, path, question));
  }

  close(): void {
    this.#doors.close();
    for (const door of this.#doors.all) door.close();
  }

  /** Does the work at the owner, if there are several doors. */
  async #follow<Value>(question: HttpRequest, work: (door: Door) => Promise<Value>): Promise<Value> {
    const doors = this.#doors;
    for (let switches = 0; ; switches++) {
      const door = doors.current;
      try {
        return await work(door);
      } catch (fault) {
        const found = fault instanceof NotOwner ? fault.refusal : fault;
        question.signal?.throwIfAborted();
        const isElsewhere = fault instanceof NotOwner || fault instanceof UnreachableError;
        if (doors.all.length === 1 || !isElsewhere || switches === switchesMax) throw found;
        const search = doors.find(door, fault instanceof NotOwner ? fault : {});
        // Otherwise it is not known whether the request was carried out.
        const mayRepeat = fault instanceof NotOwner || isRepeatable(question) || isUnsent(fault.cause);
        if (!mayRepeat) throw found;
        const isFound = await orAborted(search, question.signal);
        if (isFound) continue;
        if (fault instanceof NotOwner) throw found;
        throw new UnreachableError(doors.all.map(({ where }) => where).join(", "), fault.cause);
      }
    }
  }
}

/** Another dispatcher owns the yard, or none does yet: the request was not carried out. */
class NotOwner extends Error implements NotOwned {
  readonly refusal: YardError;
  readonly owner: string | undefined;
  readonly retryMs: number;

  constructor(refusal: YardError, owner: unknown, retryMs: number | undefined) {
    super(refusal.message);
    this.refusal = refusal;
    this.owner = typeof owner === "string" ? owner : undefined;
    this.retryMs = retryMs ?? 0;
  }
}

const unavailable = 503;

/** Rejects with NotOwner, and with the refusal if the dispatcher is not ready. */
async function opened(door: Door, path: string, question: HttpRequest): Promise<http.IncomingMessage> {
  const response = await door.open(path, question);
  if (response.statusCode !== unavailable) return response;
  const body = await door.read(response, question);
  const fault = refusal(unavailable, body, door.where);
  if (fault.code !== "not_owner") throw fault;
  throw new NotOwner(fault, parsed(body)?.owner, retryMsOf(response));
}

/** The pause that a dispatcher asks for. */
function retryMsOf({ headers }: http.IncomingMessage): number | undefined {
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

function isRepeatable({ isRepeatable: isStated, method = "GET" }: HttpRequest): boolean {
  return isStated ?? method === "GET";
}

/** True if the connection was never made, so that nothing was sent. */
export function isUnsent(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.every(isUnsent);
  const { syscall } = cause as NodeJS.ErrnoException;
  return syscall === "connect" || syscall === "getaddrinfo";
}

/** Rejects with the signal's reason if it fires first. */
function orAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

class TooLarge extends Error {}

/** The body of a response. Uses events instead of an iterator, because every request comes here. */
function wholeOf(response: http.IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on("data", (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > bytesMax) response.destroy(new TooLarge());
    });
    response.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    response.on("error", reject);
    // Without an error or an end, the connection was closed in the middle.
    response.on("close", () => reject(new Error("the connection was closed in the middle of an answer")));
  });
}

class StaleSocket extends Error {
  constructor(cause: unknown) {
    super("the connection was closed while idle", { cause });
  }
}

function causeOf(fault: unknown): unknown {
  return fault instanceof StaleSocket ? fault.cause : fault;
}

function queryOf(query: HttpRequest["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(Object.fromEntries(given) as Record<string, string>)}`;
}

/** The error for a problem document, or for the answer of a proxy in between. */
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

/** A duration in the API's notation. */
export function duration(ms: number): string {
  return `${Math.max(0, Math.round(ms))}ms`;
}
