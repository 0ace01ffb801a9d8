// Connects to one endpoint, and again whenever the connection is lost, until it is closed.

import { backoffMs } from "../backoff.js";
import { type Endpoint, formatEndpoint, netAddress } from "../endpoint.js";
import type { Hub } from "./hub.js";
import { dialLine, type Line } from "./line.js";
import { streamOptions } from "./stream-options.js";

export interface Dialing {
  readonly endpoint: string;
  /** Stops connecting. A connected peer stays until it disconnects. */
  close(): void;
}

export class Dialer implements Dialing {
  readonly endpoint: string;
  private readonly hub: Hub;
  private readonly target: Endpoint;
  private readonly onFailed: (endpoint: string, error: Error, retryMs: number) => void;
  private failures = 0;
  private isClosed = false;
  /** Cancels the current attempt, or the wait before the next one. */
  private cancel: () => void = () => {};

  constructor(
    hub: Hub,
    target: Endpoint,
    onFailed: (endpoint: string, error: Error, retryMs: number) => void,
  ) {
    this.hub = hub;
    this.target = target;
    this.endpoint = formatEndpoint(target);
    this.onFailed = onFailed;
    const loading = hub.settings.security.connect?.load?.();
    if (loading === undefined) this.dial();
    else void this.dialWhen(loading);
  }

  close(): void {
    this.isClosed = true;
    this.cancel();
  }

  private async dialWhen(loading: Promise<unknown>): Promise<void> {
    try {
      await loading;
    } catch (error) {
      // The same settings would fail again.
      this.onFailed(this.endpoint, error as Error, Number.POSITIVE_INFINITY);
      return;
    }
    if (!this.isClosed) this.dial();
  }

  private dial(): void {
    const line = dialLine({ ...streamOptions, ...netAddress(this.target) });
    const { stream } = line;
    const giveUp = () => stream.destroy(new Error("no connection within the time limit"));
    const cancelLimit = this.hub.settings.clock.after(this.hub.limits.handshakeMs, giveUp, false);
    const failed = (error: Error) => {
      cancelLimit();
      this.retry(error);
    };
    this.cancel = () => {
      cancelLimit();
      stream.destroy();
    };
    stream.once("error", failed);
    stream.once("connect", () => {
      cancelLimit();
      stream.off("error", failed);
      this.handOver(line);
    });
  }

  private handOver(line: Line): void {
    this.cancel = () => {};
    this.hub.adopt(line, this.endpoint, false, (reason, livedTicks) => {
      if (this.isClosed || reason === "shutdown") return;
      // A connection that lived counts as a success, so its loss is the first failure. One that
      // ended at once is another failure in a row.
      if (livedTicks > 1) this.failures = 0;
      this.retry(new Error(`the connection was lost: ${reason}`));
    });
  }

  private retry(error: Error): void {
    if (this.isClosed) return;
    this.failures++;
    const { clock, reconnect } = this.hub.settings;
    const retryMs = backoffMs(reconnect, this.failures, clock.random());
    this.cancel = clock.after(retryMs, () => this.dial(), true);
    this.onFailed(this.endpoint, error, retryMs);
  }
}
