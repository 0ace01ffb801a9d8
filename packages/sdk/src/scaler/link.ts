// The connection of a scaler worker or client: its identity, its unsent messages, and the resource
// use of this process.

import { randomUUID } from "node:crypto";
import { freemem } from "node:os";
import { performance } from "node:perf_hooks";
import type { scaler } from "@yardmaster/dialects";
import { type ConnectSecurity, Dealer } from "@yardmaster/zmtp";

/** An identity like those of the original program: unique, and it says where the peer runs. */
export function newIdentity(name: string): Buffer {
  return Buffer.from(`${process.pid}|${name}|${randomUUID().replaceAll("-", "")}`);
}

export interface ScalerLinkHandlers {
  connected(): void;
  /** Messages that were not sent by then are dropped. */
  disconnected(): void;
  receive(frames: Buffer[]): void;
  /** The connection could not be made, or was refused. */
  failed?(error: Error): void;
}

const GiB = 1024 * 1024 * 1024;

/** An answer contains every requested object, with three frames each. Functions of 500 MB exist. */
const limits = { messageFramesMax: 100_000, frameBytesMax: GiB, messageBytesMax: GiB };

export class ScalerLink {
  readonly #scheduler: string;
  readonly #identity: Buffer;
  readonly #handlers: ScalerLinkHandlers;
  readonly #security: ConnectSecurity | undefined;
  /** Messages that wait for room. */
  #unsent: Buffer[][] = [];
  #dealer: Dealer;
  #isClosed = false;

  constructor(
    scheduler: string,
    identity: Buffer,
    handlers: ScalerLinkHandlers,
    security: ConnectSecurity | undefined,
  ) {
    this.#scheduler = scheduler;
    this.#identity = identity;
    this.#handlers = handlers;
    this.#security = security;
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
    const security = this.#security;
    const isCurrent = () => dealer === this.#dealer && !this.#isClosed;
    const dealer = new Dealer({
      identity: this.#identity,
      limits,
      ...(security && { security, onConnectFailed: (_to, error) => this.#handlers.failed?.(error) }),
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

/** Resource use of this process; CPU since the last call. */
export class ProcessUsage {
  #cpu = process.cpuUsage();
  #at = performance.now();

  take(): scaler.WorkerResources {
    const { user, system } = process.cpuUsage(this.#cpu);
    const elapsedMs = performance.now() - this.#at;
    this.#cpu = process.cpuUsage();
    this.#at += elapsedMs;
    // Microseconds per millisecond are thousandths of a core.
    const cpu = elapsedMs < 1 ? 0 : Math.round((user + system) / elapsedMs);
    return {
      pid: process.pid,
      cpu,
      rssBytes: BigInt(process.memoryUsage.rss()),
      freeRssBytes: BigInt(freemem()),
    };
  }
}
