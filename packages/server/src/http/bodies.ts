// Reads request bodies. Each is limited by its route, and all bodies in transit by a common limit,
// so that many slow large ones cannot fill the memory. At that limit, bodies that have stalled make
// room. A complete body counts against the yard's own limits.

import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import type { Quotas } from "../access/quotas.js";
import { HeldBody } from "./held-body.js";
import { Problem } from "./problems.js";

export type TakeBody = (fault: Error | null, body?: unknown) => void;

// A body that is no larger than this is not refused because others are large: the last eighth of
// the limit is reserved for such bodies.
const smallBytes = 64 * 1024;
const largeShare = 7 / 8;

export class Bodies {
  readonly #bytesMax: number;
  readonly #nowMs: () => number;
  #bytes = 0;
  /** The limit while the process is short of memory. */
  #memoryMax = Number.POSITIVE_INFINITY;
  /** Bodies that are being received and are not small. The limit keeps them few. */
  readonly #large = new Set<HeldBody>();

  constructor(bytesMax: number, nowMs: () => number = () => 0) {
    this.#bytesMax = bytesMax;
    this.#nowMs = nowMs;
  }

  limitGrowth(bytes: number): void {
    this.#memoryMax = this.#bytes + bytes;
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
    const coding = request.headers["content-encoding"];
    if (coding !== undefined && coding.toLowerCase() !== "identity") take(unknownCoding(coding));
    else if (announced > limit) take(tooLarge(limit));
    else if (quotas?.inFlightBytesMax !== undefined && !holdBody(quotas, payload, announced)) {
      payload.resume();
      take(new Problem("quota_reached", `${request.login.principal.name} has too many bytes on their way`));
    } else if (!this.#hasRoomFor(announced, announced)) take(this.noRoom());
    else if (request.routeOptions.config.operation?.streamsBody === true) take(null, payload);
    else new BodyReader(this, payload, limit, take);
  };

  get hasRoom(): boolean {
    return this.#bytes < this.#bytesMax;
  }

  /**
   * A body that is being received now holds this many bytes. Returns false if it has to go: it then
   * holds what it held before.
   */
  hold(body: HeldBody, bytes: number): boolean {
    const more = bytes - body.bytes;
    if (bytes > smallBytes) {
      this.#large.add(body);
      body.note(Math.max(0, more), this.#nowMs());
    } else this.#large.delete(body);
    if (more > 0 && !this.#hasRoomFor(more, bytes, body)) return false;
    this.#bytes += more;
    body.bytes = bytes;
    return true;
  }

  /** Stops stalled bodies of others if that is necessary. `whole`: the size with `more`. */
  #hasRoomFor(more: number, whole: number, body?: HeldBody): boolean {
    const isLarge = whole > smallBytes;
    if (isLarge && this.#bytes + more > this.#memoryMax) return false;
    const bytesMax = this.#bytesMax * (isLarge ? largeShare : 1);
    if (this.#bytes + more <= bytesMax) return true;
    const nowMs = this.#nowMs();
    for (const other of this.#large) {
      if (other !== body && other.hasStalled(nowMs)) other.receiver.stop(this.noRoom());
      if (this.#bytes + more <= bytesMax) return true;
    }
    return false;
  }

  /** Reserves room for more bytes; returns false if there is none. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    if (bytes > smallBytes && this.#bytes + bytes > this.#memoryMax) return false;
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
      `bodies on their way hold ${this.#bytes} of ${Math.min(this.#bytesMax, this.#memoryMax)} bytes together; try again later`,
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

/**
 * A worker could not see that the payload is compressed: only its media type is kept with it.
 */
function unknownCoding(coding: string): Problem {
  const advice = "send the body as it is, or encoded bytes without this header";
  return new Problem(
    "bad_request",
    `Content-Encoding: ${coding.slice(0, 100)} is not understood here; ${advice}`,
  );
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
  readonly #held: HeldBody;
  #take: TakeBody | undefined;
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;

  constructor(bodies: Bodies, payload: IncomingMessage, limit: number, take: TakeBody) {
    this.#bodies = bodies;
    this.#payload = payload;
    this.#limit = limit;
    this.#take = take;
    this.#held = new HeldBody(this);
    payload.on("data", (chunk: Buffer) => this.#add(chunk));
    payload.on("end", () => this.#end(null, this.#whole()));
    payload.on("error", (cause) =>
      this.#end(new Problem("request_timeout", "the client went away", { cause })),
    );
  }

  stop(fault: Problem): void {
    this.#end(fault);
  }

  #add(chunk: Buffer): void {
    if (this.#take === undefined) return;
    const size = this.#held.bytes + chunk.length;
    if (size > this.#limit) {
      this.#end(tooLarge(this.#limit));
      return;
    }
    if (!this.#bodies.hold(this.#held, size)) {
      this.#end(this.#bodies.noRoom());
      return;
    }
    if (this.#first === undefined) this.#first = chunk;
    else if (this.#more === undefined) this.#more = [this.#first, chunk];
    else this.#more.push(chunk);
  }

  #whole(): Buffer {
    if (this.#more !== undefined) return Buffer.concat(this.#more, this.#held.bytes);
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
    this.#bodies.hold(this.#held, 0);
    take(fault, body);
  }
}
