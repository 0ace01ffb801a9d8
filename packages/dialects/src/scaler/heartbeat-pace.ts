// Decides when our client or worker sends a heartbeat, and when it gives up on a scheduler. Like
// the original program, it sends no heartbeat until the previous one was echoed.

import type { Instant, Moment } from "@yardmaster/core";

export interface HeartbeatPaceSettings {
  readonly heartbeatMs: number;
  /** If a heartbeat is not echoed within this time, the session reconnects. */
  readonly schedulerTimeoutMs: number;
}

export class HeartbeatPace {
  readonly #settings: HeartbeatPaceSettings;
  #sentAt = 0 as Instant;
  #isEchoed = true;
  /** Time from the last heartbeat to its echo; 0 before the first echo. */
  latencyUs = 0;
  /** Number of heartbeats sent over this connection. */
  count = 0;

  constructor(settings: HeartbeatPaceSettings) {
    this.#settings = settings;
  }

  /** Resets the pace for a new connection. */
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
