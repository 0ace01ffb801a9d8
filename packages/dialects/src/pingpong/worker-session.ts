// A worker's end of the dialect: says READY, pings, takes a job at a time, answers it, and starts the connection anew when
// the broker has been silent for too long. Time comes in as an argument; what to do comes out.

import type { Instant, Moment } from "@yardmaster/core";
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
  /** A job to work on; `finish` answers it, `abandon` gives it up. */
  work(parts: readonly Buffer[]): void;
  /** Close the connection and make a new one; `connected` when it is there. */
  reconnect(): void;
}

export class PingpongWorkerSession {
  readonly #settings: PingpongWorkerSettings;
  readonly #host: PingpongWorkerHost;
  #isConnected = false;
  #isBusy = false;
  /** [pingpong 3.2] Whom the job in hand named, where it did. */
  #client: Buffer | undefined;
  /** The job in hand came over an earlier connection: its result would be taken for another's. */
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
    // A worker that is still at an old job is not ready; it says so when it is.
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

  /** The job is done. Its result is dropped if the connection it came over is gone: the broker has given it to another. */
  finish(parts: readonly Buffer[], now: Moment): void {
    if (!this.#isBusy) return;
    this.#isBusy = false;
    const isOrphaned = this.#isOrphaned;
    this.#isOrphaned = false;
    // [pingpong 2.3] While it worked it did not ping, so the broker owed it nothing.
    this.#heard(now);
    if (!this.#isConnected) return;
    if (isOrphaned) this.#ready(now);
    else {
      const client = this.#client;
      this.#host.send({ type: "result", parts, ...(client === undefined ? {} : { client }) });
      this.#pingAt = later(now, this.#settings.pingMs);
    }
  }

  /** The job will not be done here. The dialect has no word for that but a closed connection. */
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
      // [pingpong 5.3] Close, start over, and say READY when the connection is there again.
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
