// When an end of ours beats, and when it gives a scheduler up: as in the program, no heartbeat leaves before the one before it was
// echoed.

import type { Instant, Moment } from "@yardmaster/core";

export interface HeartbeatPaceSettings {
  readonly heartbeatMs: number;
  /** A heartbeat that is not echoed for so long: the connection is made anew. */
  readonly schedulerTimeoutMs: number;
}

export class HeartbeatPace {
  readonly #settings: HeartbeatPaceSettings;
  #sentAt = 0 as Instant;
  #isEchoed = true;
  /** From the last heartbeat to its echo; 0 before the first. */
  latencyUs = 0;
  /** Sent over this connection. */
  count = 0;

  constructor(settings: HeartbeatPaceSettings) {
    this.#settings = settings;
  }

  /** The connection is new. */
  restart(): void {
    this.#isEchoed = true;
    this.count = 0;
  }

  sent(now: Moment): void {
    this.#sentAt = now.instant;
    this.#isEchoed = false;
    this.count += 1;
  }

  echoed(now: Moment): void {
    if (this.#isEchoed) return;
    this.#isEchoed = true;
    this.latencyUs = Math.round((now.instant - this.#sentAt) * 1_000);
  }

  get nextDeadline(): Instant {
    const { heartbeatMs, schedulerTimeoutMs } = this.#settings;
    return (this.#sentAt + (this.#isEchoed ? heartbeatMs : schedulerTimeoutMs)) as Instant;
  }

  due(now: Moment): "nothing" | "heartbeat" | "reconnect" {
    if (now.instant < this.nextDeadline) return "nothing";
    return this.#isEchoed ? "heartbeat" : "reconnect";
  }
}
