// The one connection of a scaler worker or client: its name, what is still to be sent over it, and what this process uses.

import { randomUUID } from "node:crypto";
import { freemem } from "node:os";
import { performance } from "node:perf_hooks";
import type { scaler } from "@yardmaster/dialects";
import { Dealer } from "@yardmaster/zmtp";

/** As the program names its peers: unique, and telling where to look. */
export function newIdentity(name: string): Buffer {
  return Buffer.from(`${process.pid}|${name}|${randomUUID().replaceAll("-", "")}`);
}

export interface ScalerLinkHandlers {
  connected(): void;
  /** Whatever was not sent by then never is. */
  disconnected(): void;
  receive(frames: Buffer[]): void;
}

const GiB = 1024 * 1024 * 1024;

/** An answer holds every object that was asked for, three frames each; functions of 500 MB exist. */
const limits = { messageFramesMax: 100_000, frameBytesMax: GiB, messageBytesMax: GiB };

export class ScalerLink {
  readonly #scheduler: string;
  readonly #identity: Buffer;
  readonly #handlers: ScalerLinkHandlers;
  /** What waits for room. */
  #unsent: Buffer[][] = [];
  #dealer: Dealer;
  #isClosed = false;

  constructor(scheduler: string, identity: Buffer, handlers: ScalerLinkHandlers) {
    this.#scheduler = scheduler;
    this.#identity = identity;
    this.#handlers = handlers;
    this.#dealer = this.#connect();
  }

  send(frames: Buffer[]): void {
    if (this.#unsent.length > 0 || this.#dealer.send(frames) === "full") this.#unsent.push(frames);
  }

  reconnect(): void {
    if (this.#isClosed) return;
    const old = this.#dealer;
    this.#unsent = [];
    this.#dealer = this.#connect();
    void old.close({ lingerMs: 0 });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#dealer.close();
  }

  #connect(): Dealer {
    const isCurrent = () => dealer === this.#dealer && !this.#isClosed;
    const dealer = new Dealer({
      identity: this.#identity,
      limits,
      onPeer: () => {
        if (isCurrent()) this.#handlers.connected();
      },
      onPeerGone: () => {
        if (!isCurrent()) return;
        this.#unsent = [];
        this.#handlers.disconnected();
      },
      onRoom: () => this.#flush(),
      onMessage: (_peer, frames) => {
        if (isCurrent()) this.#handlers.receive(frames);
      },
    });
    dealer.connect(this.#scheduler.replace(/^scaler:/, "tcp:"));
    return dealer;
  }

  #flush(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    for (const frames of unsent) this.send(frames);
  }
}

/** What this process uses: cpu since it was last asked. */
export class ProcessUsage {
  #cpu = process.cpuUsage();
  #at = performance.now();

  take(): scaler.WorkerResources {
    const { user, system } = process.cpuUsage(this.#cpu);
    const elapsedMs = performance.now() - this.#at;
    this.#cpu = process.cpuUsage();
    this.#at += elapsedMs;
    // Microseconds in a millisecond are thousandths.
    const cpu = elapsedMs < 1 ? 0 : Math.round((user + system) / elapsedMs);
    return {
      pid: process.pid,
      cpu,
      rssBytes: BigInt(process.memoryUsage.rss()),
      freeRssBytes: BigInt(freemem()),
    };
  }
}
