// Reads request bodies. Each is limited by its route, and all bodies in transit by a common limit,
// so that many slow large ones cannot fill the memory. A complete body counts against the yard's
// own limits.

import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import type { Quotas } from "../access/quotas.js";
import { Problem } from "./problems.js";

export type TakeBody = (fault: Error | null, body?: unknown) => void;

export class Bodies {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of all bodies in transit. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * For the server: collects a body in one buffer, or passes it through if the route streams it.
   */
  readonly parse = (request: FastifyRequest, payload: IncomingMessage, take: TakeBody): void => {
    const limit = request.routeOptions.bodyLimit;
    const announced = Number(request.headers["content-length"] ?? 0);
    const quotas = request.login?.principal.quotas;
    if (announced > limit) take(tooLarge(limit));
    else if (quotas?.inFlightBytesMax !== undefined && !holdBody(quotas, payload, announced)) {
      payload.resume();
      take(new Problem("quota_reached", `${request.login.principal.name} has too many bytes on their way`));
    } else if (announced > this.#bytesMax - this.#bytes) take(this.noRoom());
    else if (request.routeOptions.config.operation?.streamsBody === true) take(null, payload);
    else new BodyReader(this, payload, limit, take);
  };

  get hasRoom(): boolean {
    return this.#bytes < this.#bytesMax;
  }

  /** Reserves room for more of a body; returns false if there is none. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  /** The same for a body that may exceed the limit if it is the only one. */
  takeAlone(bytes: number): boolean {
    if (this.#bytes > 0) return this.take(bytes);
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  noRoom(): Problem {
    return new Problem(
      "queue_full",
      `bodies on their way hold ${this.#bytes} of ${this.#bytesMax} bytes together; try again later`,
    );
  }
}

/** Counts a body until it is read. One of unknown length counts as the whole quota. */
function holdBody(quotas: Quotas, payload: IncomingMessage, announced: number): boolean {
  const bytes = announced > 0 ? announced : (quotas.inFlightBytesMax ?? 0);
  if (!quotas.holdBytes(bytes)) return false;
  payload.once("close", () => quotas.releaseBytes(bytes));
  return true;
}

export function tooLarge(limit: number): Problem {
  return new Problem(
    "payload_too_large",
    `the body is larger than the ${limit} bytes that are accepted here`,
  );
}

/** Reads one body. */
class BodyReader {
  readonly #bodies: Bodies;
  readonly #payload: IncomingMessage;
  readonly #limit: number;
  #take: TakeBody | undefined;
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #size = 0;

  constructor(bodies: Bodies, payload: IncomingMessage, limit: number, take: TakeBody) {
    this.#bodies = bodies;
    this.#payload = payload;
    this.#limit = limit;
    this.#take = take;
    payload.on("data", (chunk: Buffer) => this.#add(chunk));
    payload.on("end", () => this.#end(null, this.#whole()));
    payload.on("error", (cause) =>
      this.#end(new Problem("request_timeout", "the client went away", { cause })),
    );
  }

  #add(chunk: Buffer): void {
    if (this.#take === undefined) return;
    if (this.#size + chunk.length > this.#limit) {
      this.#end(tooLarge(this.#limit));
      return;
    }
    if (!this.#bodies.take(chunk.length)) {
      this.#end(this.#bodies.noRoom());
      return;
    }
    this.#size += chunk.length;
    if (this.#first === undefined) this.#first = chunk;
    else if (this.#more === undefined) this.#more = [this.#first, chunk];
    else this.#more.push(chunk);
  }

  #whole(): Buffer {
    if (this.#more !== undefined) return Buffer.concat(this.#more, this.#size);
    return this.#first ?? Buffer.alloc(0);
  }

  #end(fault: Error | null, body?: Buffer): void {
    const take = this.#take;
    if (take === undefined) return;
    this.#take = undefined;
    this.#first = undefined;
    this.#more = undefined;
    // The rest of the body is discarded; the answer closes the connection.
    if (fault) this.#payload.resume();
    this.#bodies.giveBack(this.#size);
    take(fault, body);
  }
}
