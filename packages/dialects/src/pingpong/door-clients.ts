// The clients of a door: where their answers go, and what happens to a client that has no room or
// whose jobs have none.

import type { Effect, Instant, Moment, ReplyTo, Submission, TaskId, YardEvent } from "@yardmaster/core";
import { PausedPeers } from "../paused-peers.js";
import { answerFor, refusalFor, refuseRequest, submissionFor } from "./door-client.js";
import type { ClientAnswer, ClientRequest } from "./messages.js";

export interface DoorClientsHost<Peer> {
  now(): Moment;
  post(event: YardEvent): void;
  /** Whether the client has the right to submit. Absent: every client has it. */
  maySubmit?(peer: Peer): boolean;
  /** A client without the right has submitted. */
  denied?(peer: Peer): void;
  /**
   * A client has submitted a job. Returns for how many milliseconds it is not read, to keep to the
   * rate of its principal. Absent: there are no rates.
   */
  submitted?(peer: Peer): number;
  /** `full`: the client has no room. */
  send(peer: Peer, answer: ClientAnswer): "sent" | "queued" | "full" | "gone";
  /** Stops reading from a client, so that its messages stay on its side. */
  pause(peer: Peer): void;
  resume(peer: Peer): void;
}

export interface ClientNames {
  readonly name: string;
  /** Differs between any two connections, also those of earlier runs. */
  readonly connection: string;
  /** False if the name was assigned by the ROUTER and may be reused after a restart. */
  readonly hasOwnName: boolean;
  /** Name of its principal, if it has one. */
  readonly by?: string | undefined;
}

/**
 * [pingpong 4.5] Where a client's answers go. Without correlation frames only the connection links
 * an answer to its request. On a later connection of the same name it would answer another request.
 * With correlation frames it may go to any connection of that name.
 */
interface ReplyTos {
  readonly here: ReplyTo;
  readonly anywhere: ReplyTo;
  readonly by: string | undefined;
}

export class PingpongDoorClients<Peer> {
  readonly #queue: string;
  readonly #host: DoorClientsHost<Peer>;
  /** Clients by reply address, and the addresses of each client. */
  readonly #byAddress = new Map<string, Peer>();
  readonly #replyTos = new Map<Peer, ReplyTos>();
  readonly #paused = new PausedPeers<Peer>((peer) => this.#resume(peer));
  /** Refusals that a client had no room for. It is not read until they are sent. */
  readonly #owed = new Map<Peer, ClientAnswer[]>();
  /** Outcomes delivered by the effects that are being carried out. */
  #told: TaskId[] = [];

  constructor(queue: string, host: DoorClientsHost<Peer>) {
    this.#queue = queue;
    this.#host = host;
  }

  came(peer: Peer, { name, connection, hasOwnName, by }: ClientNames): void {
    const here: ReplyTo = { address: connection, diesWithConnection: true };
    // [pingpong 4.6] An outcome for one principal is not delivered to another with the same name.
    const lasting = by === undefined ? name : `${name} of ${by}`;
    const anywhere: ReplyTo = hasOwnName ? { address: lasting, diesWithConnection: false } : here;
    this.#replyTos.set(peer, { here, anywhere, by });
    this.#byAddress.set(here.address, peer);
    this.#byAddress.set(anywhere.address, peer);
  }

  went(peer: Peer): void {
    const { here, anywhere } = this.#replyTos.get(peer) ?? {};
    this.#replyTos.delete(peer);
    this.#paused.drop(peer);
    this.#owed.delete(peer);
    for (const { address } of [here, anywhere].filter((replyTo) => replyTo !== undefined)) {
      if (this.#byAddress.get(address) === peer) this.#byAddress.delete(address);
    }
  }

  receive(peer: Peer, request: ClientRequest): void {
    const refusal = refuseRequest(request);
    const replyTos = this.#replyTos.get(peer);
    if (refusal !== undefined) this.#refuseTo(peer, refusal);
    else if (replyTos !== undefined) {
      const replyTo = request.correlation.length > 0 ? replyTos.anywhere : replyTos.here;
      const submission = submissionFor(request, this.#queue, replyTo, replyTos.by);
      if (this.#host.maySubmit?.(peer) === false) this.#deny(peer, submission);
      else {
        this.#host.post({ type: "task-submitted", submission });
        const pauseMs = this.#host.submitted?.(peer) ?? 0;
        if (pauseMs > 0) this.#pause(peer, pauseMs);
      }
    }
  }

  /** [pingpong 4.6] */
  #deny(peer: Peer, submission: Submission): void {
    this.#host.denied?.(peer);
    const message = `This client may not submit to queue ${this.#queue}.`;
    this.#refuseTo(peer, refusalFor(submission, "forbidden", message));
  }

  tell({ task, outcome }: Extract<Effect, { type: "tell" }>): void {
    const peer = this.#byAddress.get(task.replyTo?.address ?? "");
    const sent = peer === undefined ? "gone" : this.#host.send(peer, answerFor(task, outcome));
    if (sent === "gone" || sent === "full") {
      this.#host.post({ type: "outcome-undelivered", task: task.id, again: sent === "full" });
    } else this.#told.push(task.id);
  }

  /** A full queue also pauses its client, so that its next messages stay on its side. */
  refuse({ submission, code, message }: Extract<Effect, { type: "refuse" }>): void {
    const peer = this.#byAddress.get(submission.replyTo?.address ?? "");
    if (peer === undefined) return;
    this.#refuseTo(peer, refusalFor(submission, code, message));
    if (code === "queue_full") this.#pause(peer);
  }

  /** All effects of this turn were carried out. */
  endTurn(): void {
    if (this.#told.length === 0) return;
    this.#host.post({ type: "outcomes-told", tasks: this.#told });
    this.#told = [];
  }

  nextDeadline(): Instant | undefined {
    return this.#paused.nextDeadline();
  }

  handleTimeout(now: Moment): void {
    this.#paused.handleTimeout(now);
  }

  #refuseTo(peer: Peer, refusal: ClientAnswer): void {
    const owed = this.#owed.get(peer);
    if (owed !== undefined) owed.push(refusal);
    else if (this.#host.send(peer, refusal) === "full") {
      this.#owed.set(peer, [refusal]);
      this.#pause(peer);
    }
  }

  #pause(peer: Peer, ms?: number): void {
    this.#host.pause(peer);
    this.#paused.add(peer, this.#host.now(), ms);
  }

  #resume(peer: Peer): void {
    const owed = this.#owed.get(peer) ?? [];
    for (let next = owed[0]; next !== undefined; next = owed[0]) {
      if (this.#host.send(peer, next) === "full") return this.#pause(peer);
      owed.shift();
    }
    this.#owed.delete(peer);
    this.#host.resume(peer);
  }
}
