// A calculator's end of the dialect: sends heartbeats, takes one task at a time, and repeats its
// answer until it is acknowledged.

import type { Instant, Moment } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { readDispatcherRequest, writeStatus } from "./codec.js";
import type { AckWaiter, SentRequest, UdpAddress, UdpExchange } from "./exchange.js";
import type { CalculatorStatus, Packet, Params, UdpForm } from "./messages.js";

export interface UdpCalculatorSettings {
  /** Real calculators beat every 5 to 30 s. */
  readonly heartbeatMs: number;
  /** Interval between repeats of an unacknowledged answer, and how long it is repeated. */
  readonly answerAgainMs: number;
  readonly answerMsMax: number;
  readonly form: UdpForm;
}

export const defaultUdpCalculatorSettings: UdpCalculatorSettings = {
  heartbeatMs: 5_000,
  answerAgainMs: 1_000,
  answerMsMax: 60_000,
  form: "document",
};

export interface UdpCalculatorHost {
  readonly exchange: UdpExchange;
  /** Starts a task. `finish` answers it. */
  work(params: Params): void;
}

export type CalculatorAnswer = { readonly result?: unknown } | { readonly error: string };

interface CurrentTask {
  readonly params: Params;
  readonly name: string;
  /** Its answer, until it is acknowledged. */
  answer: Params | undefined;
  answerUntil: Instant;
}

/** Tasks whose perform_task may be repeated. */
const recentMax = 1_000;

export class UdpCalculatorSession implements AckWaiter {
  readonly #dispatcher: UdpAddress;
  readonly #settings: UdpCalculatorSettings;
  readonly #host: UdpCalculatorHost;
  readonly #taken = new Recent<string, true>(recentMax);
  #task: CurrentTask | undefined;
  #beatAt: Instant | undefined;
  #answerAt: Instant | undefined;
  #isLeaving = false;
  /** True when the dispatcher has acknowledged a heartbeat or given a task. */
  #isKnown = false;
  /** The last heartbeat that requested an ack. */
  #introduction: SentRequest | undefined;

  constructor(dispatcher: UdpAddress, settings: UdpCalculatorSettings, host: UdpCalculatorHost) {
    this.#dispatcher = dispatcher;
    this.#settings = settings;
    this.#host = host;
  }

  get isBusy(): boolean {
    return this.#task !== undefined;
  }

  get #status(): CalculatorStatus {
    if (this.#task !== undefined) return "busy";
    return this.#isLeaving ? "unavailable" : "ready";
  }

  start(now: Moment): void {
    this.#beat(now);
  }

  /** Takes no more tasks, and says so. */
  leave(now: Moment): void {
    this.#isLeaving = true;
    this.#beat(now);
  }

  /** Handles any packet from the dispatcher that is not an ack. */
  receive(packet: Packet, now: Moment): void {
    const reading = readDispatcherRequest(packet);
    if (!reading.ok) return;
    const { exchange } = this.#host;
    if (reading.message.type === "status") {
      exchange.acknowledge(this.#dispatcher, packet, {
        status: writeStatus(this.#status, this.#settings.form),
      });
    } else if (reading.message.type === "perform_task") {
      const { uuid, taskId } = reading.message.names;
      this.#perform(packet, uuid ?? String(taskId), now);
    }
  }

  finish(answer: CalculatorAnswer, now: Moment): void {
    const task = this.#task;
    if (task === undefined || task.answer !== undefined) return;
    task.answer = answer;
    task.answerUntil = (now.instant + this.#settings.answerMsMax) as Instant;
    this.#answer(task, now);
  }

  acknowledged(_result: Params | undefined, now: Moment): void {
    this.#done(now);
  }

  unanswered(now: Moment): void {
    if (this.#task === undefined) return;
    if (now.instant >= this.#task.answerUntil) this.#done(now);
    else this.#answerAt = (now.instant + this.#settings.answerAgainMs) as Instant;
  }

  nextDeadline(): Instant | undefined {
    if (this.#answerAt === undefined || this.#beatAt === undefined) return this.#answerAt ?? this.#beatAt;
    return this.#answerAt < this.#beatAt ? this.#answerAt : this.#beatAt;
  }

  handleTimeout(now: Moment): void {
    if (this.#beatAt !== undefined && this.#beatAt <= now.instant) this.#beat(now);
    if (this.#answerAt === undefined || this.#answerAt > now.instant) return;
    this.#answerAt = undefined;
    if (this.#task !== undefined) this.#answer(this.#task, now);
  }

  #perform(packet: Packet, name: string, now: Moment): void {
    const transmission = `${name} ${packet.transmissionId}`;
    // [udp 1.7] Our ack was lost: this repeats a perform_task, perhaps of a task that is already
    // done.
    if (this.#task?.name === name || this.#taken.has(transmission)) {
      this.#host.exchange.acknowledge(this.#dispatcher, packet);
      return;
    }
    // [udp 1.6] Silence is the refusal.
    if (this.#status !== "ready") return;
    this.#taken.set(transmission, true);
    this.#meet();
    this.#task = { params: packet.params, name, answer: undefined, answerUntil: now.instant };
    this.#host.exchange.acknowledge(this.#dispatcher, packet);
    this.#host.work(packet.params);
  }

  #answer({ params, answer }: CurrentTask, now: Moment): void {
    const { exchange } = this.#host;
    const { task_id, task_uuid } = params;
    const ids = { ...(task_id !== undefined && { task_id }), ...(task_uuid !== undefined && { task_uuid }) };
    const ask = (its: Params | undefined) =>
      exchange.ask(this.#dispatcher, "completed_task", JSON.stringify({ ...ids, ...its }), this, now);
    if (ask(answer) === undefined) ask({ error: "The result does not fit in a datagram." });
  }

  #done(now: Moment): void {
    this.#task = undefined;
    this.#answerAt = undefined;
    this.#beat(now);
  }

  #beat(now: Moment): void {
    this.#beatAt = (now.instant + this.#settings.heartbeatMs) as Instant;
    const params = JSON.stringify({ status: writeStatus(this.#status, this.#settings.form) });
    const { exchange } = this.#host;
    if (this.#isKnown) {
      exchange.tell(this.#dispatcher, "heartbeat", params);
      return;
    }
    // [udp 3.1] Without an ack, an idle calculator could not know whether a dispatcher is there.
    if (this.#introduction !== undefined) exchange.drop(this.#introduction);
    const waiter = { acknowledged: () => this.#meet(), unanswered: () => {} };
    this.#introduction = exchange.ask(this.#dispatcher, "heartbeat", params, waiter, now);
  }

  /** Drops the open heartbeat, because a repeat would say that a busy calculator is ready. */
  #meet(): void {
    this.#isKnown = true;
    if (this.#introduction !== undefined) this.#host.exchange.drop(this.#introduction);
    this.#introduction = undefined;
  }
}
