// Reading the bodies of requests: each up to its route's limit, and all that are on their way together up to another, so
// that many slow large ones cannot fill the memory either. What has been read whole belongs to the yard's own limits.

import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { Problem } from "./problems.js";

export type TakeBody = (fault: Error | null, body?: unknown) => void;

export class Bodies {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Of all bodies that are on their way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** For the server: a body as one buffer, or as it comes where the route wants that. */
  readonly parse = (request: FastifyRequest, payload: IncomingMessage, take: TakeBody): void => {
    const limit = request.routeOptions.bodyLimit;
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > limit) take(tooLarge(limit));
    else if (announced > this.#bytesMax - this.#bytes) take(this.noRoom());
    else if (request.routeOptions.config.operation?.streamsBody === true) take(null, payload);
    else new BodyReader(this, payload, limit, take);
  };

  get hasRoom(): boolean {
    return this.#bytes < this.#bytesMax;
  }

  /** Makes room for more of a body; false when there is none. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  /** The same for one that may be larger than the limit, if there is no other. */
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

export function tooLarge(limit: number): Problem {
  return new Problem("payload_too_large", `the body is larger than the ${limit} bytes that are taken here`);
}

/** One body on its way. */
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
    // What is still to come is not kept; the answer closes the connection.
    if (fault) this.#payload.resume();
    this.#bodies.giveBack(this.#size);
    take(fault, body);
  }
}
