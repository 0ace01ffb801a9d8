// Answers on their way out. A connection has one answer to a read or a batch in preparation: those that a client pipelines
// behind it wait until it has been taken. Large answers count against one budget until they have left, and few lists are
// prepared at once.

import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import type { Bodies } from "./bodies.js";
import { Problem } from "./problems.js";

/** Answers up to this size are not counted: all connections together hold at most some 64 MB of them. */
const countedBytesMin = 4_096;
/** Each is an object of some kilobytes, and one read of a socket may bring thousands. */
const unansweredMax = 256;
/** Lists of up to a thousand tasks or a hundred thousand workers: some megabytes and milliseconds each. */
const listsAtOnce = 2;
const lists: ReadonlySet<string> = new Set(["listTasks", "listWorkers", "listQueues", "getMetrics"]);

/** What one connection waits for. */
interface Line {
  unanswered: number;
  isReading: boolean;
  readonly waiting: (() => void)[];
}

export class Answers {
  readonly #outgoing: Bodies;
  readonly #lines = new WeakMap<Socket, Line>();
  readonly #held = new WeakSet<FastifyReply>();
  readonly #listing = new Set<FastifyReply>();
  readonly #waitingLists: (() => void)[] = [];

  constructor(outgoing: Bodies) {
    this.#outgoing = outgoing;
  }

  /** `onRequest`: goes on when it is this request's turn. */
  readonly admit = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { socket } = request.raw;
    const line = this.#lineOf(socket);
    line.unanswered += 1;
    if (line.unanswered > unansweredMax) {
      done(
        new Problem("queue_full", `more than ${unansweredMax} requests of this connection are unanswered`),
      );
      socket.destroy();
      return;
    }
    if (!isLarge(request)) done();
    else if (line.isReading) line.waiting.push(() => this.#read(line, request, reply, done));
    else this.#read(line, request, reply, done);
  };

  /** `onSend`: the answer is written, and counts until it has been taken. */
  readonly count = (
    _request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (fault: Error | null, payload?: unknown) => void,
  ): void => {
    this.#listed(reply);
    const isText = typeof payload === "string" || Buffer.isBuffer(payload);
    if (!isText || payload.length < countedBytesMin || this.#held.has(reply)) done(null, payload);
    else if (this.hold(reply, payload.length)) done(null, payload);
    else if (isRead(reply.request)) done(this.#outgoing.noRoom());
    // What was asked for is done, and has to be told.
    else done(null, payload);
  };

  /** `onResponse`: it has been taken. */
  answered(request: FastifyRequest): void {
    const line = this.#lines.get(request.raw.socket);
    if (line === undefined) return;
    line.unanswered -= 1;
    if (!isLarge(request)) return;
    line.isReading = false;
    line.waiting.shift()?.();
  }

  /** Counts an answer's bytes until it has left, or never will; false when there is no room. */
  hold(reply: FastifyReply, bytes: number): boolean {
    if (!this.#outgoing.takeAlone(bytes)) return false;
    this.#held.add(reply);
    const { socket } = reply.request.raw;
    // One that stands behind another on its connection is not told that the connection closed: so the socket is asked.
    const over = () => {
      reply.raw.off("finish", over);
      socket.off("close", over);
      this.#outgoing.giveBack(bytes);
    };
    reply.raw.once("finish", over);
    if (socket.destroyed) over();
    else socket.once("close", over);
    return true;
  }

  /** Of all answers on their way. */
  get bytes(): number {
    return this.#outgoing.bytes;
  }

  noRoom(): Problem {
    return this.#outgoing.noRoom();
  }

  #lineOf(socket: Socket): Line {
    let line = this.#lines.get(socket);
    if (line === undefined) {
      line = { unanswered: 0, isReading: false, waiting: [] };
      this.#lines.set(socket, line);
    }
    return line;
  }

  #read(line: Line, request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    line.isReading = true;
    if (request.raw.socket.destroyed) return;
    if (!this.#outgoing.hasRoom) {
      done(this.#outgoing.noRoom());
      return;
    }
    const id = request.routeOptions.config.operation?.id;
    if (id === undefined || !lists.has(id)) done();
    else if (this.#listing.size < listsAtOnce) this.#list(reply, done);
    else this.#waitingLists.push(() => this.#list(reply, done));
  }

  #list(reply: FastifyReply, done: HookHandlerDoneFunction): void {
    if (reply.request.raw.socket.destroyed) {
      this.#waitingLists.shift()?.();
      return;
    }
    this.#listing.add(reply);
    done();
  }

  #listed(reply: FastifyReply): void {
    if (this.#listing.delete(reply)) this.#waitingLists.shift()?.();
  }
}

/** Its answer may be of megabytes. */
function isLarge(request: FastifyRequest): boolean {
  return isRead(request) || request.routeOptions.config.operation?.streamsBody === true;
}

function isRead({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}
