// Outgoing answers. Each connection prepares one answer to a read or a batch at a time; pipelined
// requests wait until the client has read it. Large answers count against one budget until they are
// sent, and only a few lists are prepared at once.

import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import type { Bodies } from "./bodies.js";
import { Problem } from "./problems.js";

/** Smaller answers are not counted: all connections together hold at most about 64 MB of them. */
const countedBytesMin = 4_096;
/**
 * Maximum number of unanswered requests per connection. Each costs some kilobytes, and one read of
 * a socket may bring thousands.
 */
const unansweredMax = 256;
/**
 * Maximum number of lists in preparation. A list may hold a thousand tasks or a hundred thousand
 * workers: some megabytes and milliseconds.
 */
const listsAtOnce = 2;
const lists: ReadonlySet<string> = new Set(["listTasks", "listWorkers", "listQueues", "getMetrics"]);

/** The waiting requests of one connection. */
interface ConnectionQueue {
  unanswered: number;
  isReading: boolean;
  readonly waiting: (() => void)[];
}

export class Answers {
  readonly #outgoing: Bodies;
  readonly #lines = new WeakMap<Socket, ConnectionQueue>();
  readonly #held = new WeakSet<FastifyReply>();
  readonly #listing = new Set<FastifyReply>();
  readonly #waitingLists: (() => void)[] = [];

  constructor(outgoing: Bodies) {
    this.#outgoing = outgoing;
  }

  /** `onRequest` hook: continues when it is this request's turn. */
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

  /** `onSend` hook: the answer is written, and counts until the client has read it. */
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
    // The request was already carried out, so its answer must be sent.
    else done(null, payload);
  };

  /** `onResponse` hook: the client has read the answer. */
  answered(request: FastifyRequest): void {
    const line = this.#lines.get(request.raw.socket);
    if (line === undefined) return;
    line.unanswered -= 1;
    if (!isLarge(request)) return;
    line.isReading = false;
    line.waiting.shift()?.();
  }

  /** Counts an answer's bytes until it is sent or abandoned. Returns false if there is no room. */
  hold(reply: FastifyReply, bytes: number): boolean {
    if (!this.#outgoing.takeAlone(bytes)) return false;
    this.#held.add(reply);
    const { socket } = reply.request.raw;
    // A response behind another one on its connection gets no close event, so the socket's state is
    // checked.
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

  /** Bytes of all outgoing answers. */
  get bytes(): number {
    return this.#outgoing.bytes;
  }

  noRoom(): Problem {
    return this.#outgoing.noRoom();
  }

  #lineOf(socket: Socket): ConnectionQueue {
    let line = this.#lines.get(socket);
    if (line === undefined) {
      line = { unanswered: 0, isReading: false, waiting: [] };
      // Each pending request listens for the close, and Node would warn of a leak at the eleventh.
      socket.setMaxListeners(0);
      this.#lines.set(socket, line);
    }
    return line;
  }

  #read(
    line: ConnectionQueue,
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void {
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

/** True if the answer may have megabytes. */
function isLarge(request: FastifyRequest): boolean {
  return isRead(request) || request.routeOptions.config.operation?.streamsBody === true;
}

function isRead({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}
