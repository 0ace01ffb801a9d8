// A worker's end of the dialect: says READY, pings, takes one job at a time, answers it, and
// reconnects when the broker has been silent for too long. Time is an argument, and actions are
// returned.

import type { Instant, Moment } from "@yardmaster/core";
import { bodyOfParts } from "../parts.js";
import type { BrokerMessage, WorkerMessage } from "./messages.js";

/** [pingpong 1] The document's constants. */
export interface PingpongWorkerSettings {
  readonly pingMs: number;
  readonly brokerTimeoutMs: number;
  readonly timeouts: number;
}

export const defaultPingpongWorkerSettings: PingpongWorkerSettings = {
  pingMs: 1_000,
  brokerTimeoutMs: 1_000,
  timeouts: 3,
};

export interface PingpongWorkerHost {
  send(message: WorkerMessage): void;
  /** Starts a job. `finish` answers it, `abandon` gives it up. */
  work(parts: readonly Buffer[]): void;
  /** Closes the connection and makes a new one. Call `connected` when it is open. */
  reconnect(): void;
}

export class PingpongWorkerSession {
  readonly #settings: PingpongWorkerSettings;
  readonly #host: PingpongWorkerHost;
  #isConnected = false;
  #isBusy = false;
  /** [pingpong 3.2] The client that the current job named, if any. */
  #client: Buffer | undefined;
  /**
   * True if the current job came over an earlier connection, where its result would be taken for
   * another job's.
   */
  #isOrphaned = false;
  #pingAt = 0 as Instant;
  #giveUpAt = 0 as Instant;

  constructor(settings: PingpongWorkerSettings, host: PingpongWorkerHost) {
    this.#settings = settings;
    this.#host = host;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  connected(now: Moment): void {
    this.#isConnected = true;
    this.#isOrphaned = this.#isBusy;
    this.#heard(now);
    // A worker that still runs an old job is not ready yet. It says READY afterwards.
    if (!this.#isBusy) this.#ready(now);
  }

  disconnected(): void {
    this.#isConnected = false;
  }

  receive(message: BrokerMessage, now: Moment): void {
    this.#heard(now);
    if (message.type === "pong" || this.#isBusy) return;
    this.#isBusy = true;
    this.#client = message.client;
    this.#host.work(message.parts);
  }

  /**
   * Answers the job. If its connection is gone the result is dropped, because the broker gave the
   * job to another worker.
   */
  finish(parts: readonly Buffer[], now: Moment): void {
    if (!this.#isBusy) return;
    this.#isBusy = false;
    const isOrphaned = this.#isOrphaned;
    this.#isOrphaned = false;
    // [pingpong 2.3] It did not ping while it worked, so the broker owed it no PONG.
    this.#heard(now);
    if (!this.#isConnected) return;
    if (isOrphaned) this.#ready(now);
    else {
      const client = this.#client;
      this.#host.send({
        type: "result",
        result: bodyOfParts(parts),
        ...(client === undefined ? {} : { client }),
      });
      this.#pingAt = later(now, this.#settings.pingMs);
    }
  }

  /** Gives the job up. The dialect's only way to say so is to close the connection. */
  abandon(now: Moment): void {
    if (!this.#isBusy) return;
    if (this.#isOrphaned || !this.#isConnected) {
      this.finish([], now);
      return;
    }
    this.#isBusy = false;
    this.#isConnected = false;
    this.#host.reconnect();
  }

  nextDeadline(): Instant | undefined {
    if (!this.#isConnected || this.#isBusy) return undefined;
    return this.#pingAt < this.#giveUpAt ? this.#pingAt : this.#giveUpAt;
  }

  handleTimeout(now: Moment): void {
    if (!this.#isConnected || this.#isBusy) return;
    if (now.instant >= this.#giveUpAt) {
      // [pingpong 5.3] Close, reconnect, and say READY when the connection is open.
      this.#isConnected = false;
      this.#host.reconnect();
      return;
    }
    if (now.instant < this.#pingAt) return;
    this.#pingAt = later(now, this.#settings.pingMs);
    this.#host.send({ type: "ping" });
  }

  #ready(now: Moment): void {
    this.#host.send({ type: "ready" });
    this.#pingAt = later(now, this.#settings.pingMs);
  }

  #heard(now: Moment): void {
    this.#giveUpAt = later(now, this.#settings.brokerTimeoutMs * this.#settings.timeouts);
  }
}

function later(now: Moment, ms: number): Instant {
  return (now.instant + ms) as Instant;
}
