// The http side of the port: a handler posts a request and awaits the answer. Attempts that arrive
// for a closed request are returned. A connection that closes while its request waits also ends the
// request.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Effect, RequestAnswer, RequestId, TaskId, YardEvent } from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";
import { Requests } from "../door-kit/requests.js";
import { unreadablePayload } from "../door-kit/unreadable-payload.js";
import { Problem } from "./problems.js";

export type Assignment = Extract<Effect, { type: "assign" }>;

/** An attempt that did not reach its worker. */
export type Undelivered = Pick<Assignment, "worker" | "attempt"> & {
  readonly task: { readonly id: TaskId };
};

export type Reply = RequestAnswer | { readonly type: "assigned"; readonly attempts: readonly Assignment[] };

export interface ReplyWait {
  /** The response that waits for the answer. */
  readonly response: ServerResponse;
  /** The answer if the door closes first. */
  readonly atClose: Reply;
}

type Submitted = Extract<YardEvent, { type: "task-submitted" }>;
type Watched = Extract<RequestAnswer, { type: "watched" }>;
type WaitEnd = { readonly type: "closed" } | { readonly type: "gone" } | Reply;

const stopping: Reply = { type: "refused", code: "not_ready", message: "the dispatcher has stopped" };

export class Exchange {
  readonly #port: Port;
  readonly #requests = new Requests<WaitEnd>();
  /** Attempts assigned to open claims: they come one by one, and the answer after the last. */
  readonly #assigned = new Map<RequestId, Assignment[]>();

  readonly #idleTimeoutPauses = new IdleTimeoutPauses();

  constructor(port: Port) {
    this.#port = port;
  }

  /**
   * Posts the event that `event` makes for a new request number, and resolves with the answer. A
   * refusal rejects.
   */
  async ask(
    event: (request: RequestId) => YardEvent,
    wait?: ReplyWait,
  ): Promise<Exclude<Reply, { type: "refused" }>> {
    const waiting = await this.#post(event, wait?.response);
    if (waiting.type === "gone") throw new Problem("request_timeout", "the client went away");
    const reply = waiting.type === "closed" ? (wait?.atClose ?? stopping) : waiting;
    if (reply.type === "refused") throw new Problem(reply.code, reply.message);
    return reply;
  }

  /** The same without a promise, for many at once. A refusal is passed to `take`. */
  askFor(event: (request: RequestId) => YardEvent, take: (reply: Reply) => void): void {
    const request = this.#requests.open((waiting) => {
      take(waiting.type === "closed" || waiting.type === "gone" ? stopping : waiting);
    });
    this.#port.post(event(request));
  }

  /**
   * Submits a task and waits for its outcome, in one event. Resolves with the answer to the watch.
   * A refusal rejects.
   */
  async askWatched(
    submitted: (request: RequestId) => Submitted,
    forMs: number,
    response: ServerResponse,
  ): Promise<Watched> {
    let accepted: Reply = stopping;
    const end = await this.#post((request) => {
      const accept = this.#requests.open((answer) => {
        if (answer.type !== "closed" && answer.type !== "gone") accepted = answer;
      });
      return { ...submitted(accept), watch: { request, forMs } };
    }, response);
    if (end.type === "gone") throw new Problem("request_timeout", "the client went away");
    // Assigned in a callback, of which the compiler does not know.
    const reply = accepted as Reply;
    if (reply.type === "refused") throw new Problem(reply.code, reply.message);
    if (reply.type !== "accepted") throw new Error(`a submission was answered with ${reply.type}`);
    return end.type === "watched" ? end : { type: "watched", task: reply.task, finished: false };
  }

  #post(event: (request: RequestId) => YardEvent, response: ServerResponse | undefined): Promise<WaitEnd> {
    return new Promise((resolve) => {
      const socket = response?.req.socket;
      const drop = () => this.#drop(request);
      const request = this.#requests.open((reply) => {
        if (socket) this.#idleTimeoutPauses.end(socket.off("close", drop));
        resolve(reply);
      });
      this.#port.post(event(request));
      if (socket) this.#idleTimeoutPauses.begin(socket.once("close", drop));
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
      // An assignment that answers no claim belongs to a stream.
      if (effect.type === "assign" && effect.request !== undefined) this.#collect(effect, effect.request);
      if (effect.type === "reply") this.#answer(effect.request, effect.answer);
    }
  }

  #collect(assignment: Assignment, request: RequestId): void {
    if (!this.#requests.isOpen(request)) {
      this.giveBack(assignment);
      return;
    }
    const attempts = this.#assigned.get(request);
    if (attempts) attempts.push(assignment);
    else this.#assigned.set(request, [assignment]);
  }

  #answer(request: RequestId, answer: RequestAnswer): void {
    const attempts = this.#takeAssigned(request);
    this.#requests.settle(request, attempts.length > 0 ? { type: "assigned", attempts } : answer);
  }

  #takeAssigned(request: RequestId): readonly Assignment[] {
    const attempts = this.#assigned.get(request) ?? [];
    this.#assigned.delete(request);
    return attempts;
  }

  /** An attempt that did not reach its worker does not count as a try. */
  giveBack({ worker, task, attempt }: Undelivered): void {
    this.#port.post({ type: "attempt-returned", worker, task: task.id, attempt, reason: "undelivered" });
  }

  /** The payload is lost, so no other worker could run the task either. */
  failUnreadable({ worker, task, attempt }: Assignment, message: string): void {
    const error = unreadablePayload(message);
    this.#port.post({ type: "attempt-failed", worker, task: task.id, attempt, error });
  }

  /** Answers all open requests. */
  close(): void {
    this.#requests.settleAll({ type: "closed" });
    for (const request of [...this.#assigned.keys()]) {
      for (const attempt of this.#takeAssigned(request)) this.giveBack(attempt);
    }
  }
}

/**
 * A long poll is not idle. The connection's idle timeout is for peers that send slowly or do not
 * read. It is suspended while any request on the connection waits.
 */
class IdleTimeoutPauses {
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
