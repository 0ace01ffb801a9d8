import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { partsOf } from "../parts.js";
import { PingpongWorkerSession, type PingpongWorkerSettings } from "./worker-session.js";

const at = (ms: number): Moment => ({ instant: ms as Instant, wall: ms as WallTime });
const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));
const job = (...parts: string[]) => ({ type: "job", parts: bytes(...parts) }) as const;
const pong = { type: "pong" } as const;

/**
 * A session with a log of its actions and their times. Timeouts come exactly when it asked for
 * them.
 */
class Driven {
  readonly session: PingpongWorkerSession;
  now = 0;
  #did: string[] = [];

  constructor(settings: Partial<PingpongWorkerSettings> = {}) {
    this.session = new PingpongWorkerSession(
      { pingMs: 1_000, brokerTimeoutMs: 1_000, timeouts: 3, ...settings },
      {
        send: (message) => {
          const parts = message.type === "result" ? ` ${partsOf(message.result)}` : "";
          const to = message.type === "result" && message.client ? ` for ${message.client}` : "";
          this.#note(`${message.type}${parts}${to}`);
        },
        work: (parts) => this.#note(`work ${parts}`),
        reconnect: () => this.#note("reconnect"),
      },
    );
  }

  #note(what: string): void {
    this.#did.push(`${this.now} ${what}`);
  }

  did(): string[] {
    return this.#did.splice(0);
  }

  /** Advances the clock to this time. */
  to(ms: number): this {
    for (;;) {
      const next = this.session.nextDeadline();
      if (next === undefined || next > ms) break;
      this.now = next;
      this.session.handleTimeout(at(next));
    }
    this.now = ms;
    return this;
  }

  connected(): this {
    this.session.connected(at(this.now));
    return this;
  }

  hear(message: Parameters<PingpongWorkerSession["receive"]>[0]): this {
    this.session.receive(message, at(this.now));
    return this;
  }

  finish(...parts: string[]): this {
    this.session.finish(bytes(...parts), at(this.now));
    return this;
  }
}

test("says READY when it is connected, and pings every second while it is answered", () => {
  const driven = new Driven();
  assert.equal(driven.session.nextDeadline(), undefined);
  driven.connected();
  for (const second of [1, 2, 3, 4, 5]) driven.to(second * 1_000).hear(pong);
  assert.deepEqual(driven.did(), [
    "0 ready",
    "1000 ping",
    "2000 ping",
    "3000 ping",
    "4000 ping",
    "5000 ping",
  ]);
});

test("starts over after three timeouts without a word, and says READY again", () => {
  const driven = new Driven().connected().to(10_000);
  assert.deepEqual(driven.did(), ["0 ready", "1000 ping", "2000 ping", "3000 reconnect"]);
  assert.equal(driven.session.nextDeadline(), undefined);
  driven.connected().to(11_000);
  assert.deepEqual(driven.did(), ["10000 ready", "11000 ping"]);
});

test("all three constants are settings", () => {
  const driven = new Driven({ pingMs: 300, brokerTimeoutMs: 500, timeouts: 2 }).connected().to(5_000);
  assert.deepEqual(driven.did(), ["0 ready", "300 ping", "600 ping", "900 ping", "1000 reconnect"]);
});

test("any word of the broker's counts, a job too", () => {
  const driven = new Driven().connected().to(2_900).hear(job("a")).finish("b");
  driven.did();
  driven.to(5_899);
  assert.deepEqual(driven.did(), ["3900 ping", "4900 ping"]);
  driven.to(5_900);
  assert.deepEqual(driven.did(), ["5900 reconnect"]);
});

test("while it works it does not ping, and does not give the broker up", () => {
  const driven = new Driven().connected().hear(job("a"));
  assert.deepEqual([driven.session.isBusy, driven.session.nextDeadline()], [true, undefined]);
  driven.session.handleTimeout(at(60_000));
  driven.to(60_000).finish("b", "c");
  assert.deepEqual(driven.did(), ["0 ready", "0 work a", "60000 result b,c"]);
  driven.to(62_999);
  assert.deepEqual(driven.did(), ["61000 ping", "62000 ping"]);
});

test("a second job while one is in hand is not begun", () => {
  const driven = new Driven().connected().hear(job("a")).hear(job("b")).finish("x");
  assert.deepEqual(driven.did(), ["0 ready", "0 work a", "0 result x"]);
});

test("a job in program form is answered to the client it named", () => {
  const driven = new Driven().connected();
  driven.hear({ type: "job", parts: bytes("a"), client: Buffer.from("c") }).finish("b");
  driven.hear(job("a")).finish("b");
  assert.deepEqual(driven.did(), ["0 ready", "0 work a", "0 result b for c", "0 work a", "0 result b"]);
});

test("the result of a job whose connection is gone is never sent over another", () => {
  const driven = new Driven().connected().hear(job("a"));
  driven.session.disconnected();
  driven.to(10).connected().to(5_000);
  assert.deepEqual(driven.did(), ["0 ready", "0 work a"]);
  driven.finish("b");
  assert.deepEqual(driven.did(), ["5000 ready"]);
  // The next answer belongs to its own job again.
  driven.hear(job("c")).finish("d");
  assert.deepEqual(driven.did(), ["5000 work c", "5000 result d"]);
});

test("a job that ends between two connections is forgotten", () => {
  const driven = new Driven().connected().hear(job("a"));
  driven.session.disconnected();
  driven.finish("b");
  assert.equal(driven.session.isBusy, false);
  driven.connected();
  assert.deepEqual(driven.did(), ["0 ready", "0 work a", "0 ready"]);
});

test("a job that is given up closes the connection, and no result is sent", () => {
  const driven = new Driven().connected().hear(job("a"));
  driven.session.abandon(at(0));
  assert.deepEqual(driven.did(), ["0 ready", "0 work a", "0 reconnect"]);
  assert.deepEqual([driven.session.isBusy, driven.session.nextDeadline()], [false, undefined]);
  driven.finish("late");
  driven.connected();
  assert.deepEqual(driven.did(), ["0 ready"]);
});

test("an orphaned job that is given up costs no connection: its own is gone already", () => {
  const driven = new Driven().connected().hear(job("a"));
  driven.session.disconnected();
  driven.connected().session.abandon(at(0));
  assert.deepEqual(driven.did(), ["0 ready", "0 work a", "0 ready"]);
  driven.session.abandon(at(0));
  assert.deepEqual(driven.did(), []);
});
