// The http side of the port: a handler asks, and awaits the answer; what arrives for nobody is given back.
// A connection that closes while its request waits takes the request with it.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answer, Effect, RequestId, YardEvent } from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";
import { Requests } from "../door-kit/requests.js";
import { unreadablePayload } from "../door-kit/unreadable-payload.js";
import { Problem } from "./problems.js";

export type Assignment = Extract<Effect, { type: "assign" }>;

export type Reply = Answer | { readonly type: "assigned"; readonly attempts: readonly Assignment[] };

export interface Wait {
  /** The response that somebody waits for. */
  readonly response: ServerResponse;
  /** What they are told when the door closes first. */
  readonly atClose: Reply;
}

type Waiting = { readonly type: "closed" } | { readonly type: "gone" } | Reply;

const stopping: Reply = { type: "refused", code: "not_ready", message: "the dispatcher has stopped" };

export class Exchange {
  readonly #port: Port;
  readonly #requests = new Requests<Waiting>();
  /** What claims were given so far: attempts come one by one, and the answer after the last. */
  readonly #assigned = new Map<RequestId, Assignment[]>();

  readonly #patience = new Patience();

  constructor(port: Port) {
    this.#port = port;
  }

  /** Posts what `event` makes of a new request's number, and resolves with the answer. A refusal rejects. */
  async ask(
    event: (request: RequestId) => YardEvent,
    wait?: Wait,
  ): Promise<Exclude<Reply, { type: "refused" }>> {
    const waiting = await this.#post(event, wait?.response);
    if (waiting.type === "gone") throw new Problem("request_timeout", "the client went away");
    const reply = waiting.type === "closed" ? (wait?.atClose ?? stopping) : waiting;
    if (reply.type === "refused") throw new Problem(reply.code, reply.message);
    return reply;
  }

  /** The same without a promise, for many at once; a refusal is an answer like others. */
  askFor(event: (request: RequestId) => YardEvent, take: (reply: Reply) => void): void {
    const request = this.#requests.open((waiting) => {
      take(waiting.type === "closed" || waiting.type === "gone" ? stopping : waiting);
    });
    this.#port.post(event(request));
  }

  #post(event: (request: RequestId) => YardEvent, response: ServerResponse | undefined): Promise<Waiting> {
    return new Promise((resolve) => {
      const socket = response?.req.socket;
      const drop = () => this.#drop(request);
      const request = this.#requests.open((reply) => {
        if (socket) this.#patience.end(socket.off("close", drop));
        resolve(reply);
      });
      this.#port.post(event(request));
      if (socket) this.#patience.begin(socket.once("close", drop));
      if (socket?.destroyed) drop();
    });
  }

  #drop(request: RequestId): void {
    if (!this.#requests.settle(request, { type: "gone" })) return;
    this.#port.post({ type: "request-dropped", request });
    for (const attempt of this.#takeAssigned(request)) this.giveBack(attempt);
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "assign") this.#collect(effect);
      if (effect.type === "reply") this.#answer(effect.request, effect.answer);
    }
  }

  #collect(assignment: Assignment): void {
    const { request } = assignment;
    if (request === undefined || !this.#requests.isOpen(request)) {
      this.giveBack(assignment);
      return;
    }
    const attempts = this.#assigned.get(request);
    if (attempts) attempts.push(assignment);
    else this.#assigned.set(request, [assignment]);
  }

  #answer(request: RequestId, answer: Answer): void {
    const attempts = this.#takeAssigned(request);
    this.#requests.settle(request, attempts.length > 0 ? { type: "assigned", attempts } : answer);
  }

  #takeAssigned(request: RequestId): readonly Assignment[] {
    const attempts = this.#assigned.get(request) ?? [];
    this.#assigned.delete(request);
    return attempts;
  }

  /** An attempt that did not reach its worker costs the task nothing. */
  giveBack({ worker, task, attempt }: Assignment): void {
    this.#port.post({ type: "attempt-returned", worker, task: task.id, attempt, reason: "undelivered" });
  }

  /** Its payload is lost: no other worker could have it either. */
  failUnreadable({ worker, task, attempt }: Assignment, message: string): void {
    const error = unreadablePayload(message);
    this.#port.post({ type: "attempt-failed", worker, task: task.id, attempt, error });
  }

  /** Answers everybody who still waits. */
  close(): void {
    this.#requests.settleAll({ type: "closed" });
    for (const request of [...this.#assigned.keys()]) {
      for (const attempt of this.#takeAssigned(request)) this.giveBack(attempt);
    }
  }
}

/**
 * A long wait is no idleness: the time limit of a connection is for those who send slowly, or do not read. It is lifted
 * while any request on the connection waits, and back when none does.
 */
class Patience {
  readonly #waits = new Map<Socket, { count: number; readonly silenceMs: number }>();

  begin(socket: Socket): void {
    const waits = this.#waits.get(socket);
    if (waits !== undefined) waits.count += 1;
    else {
      this.#waits.set(socket, { count: 1, silenceMs: socket.timeout ?? 0 });
      socket.setTimeout(0);
    }
  }

  end(socket: Socket): void {
    const waits = this.#waits.get(socket);
    if (waits === undefined || --waits.count > 0) return;
    this.#waits.delete(socket);
    if (!socket.destroyed) socket.setTimeout(waits.silenceMs);
  }
}
