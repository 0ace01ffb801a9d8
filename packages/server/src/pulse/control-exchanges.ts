// The open requests to each worker. They end with their answers, with the worker, or with the door.

import type { pulse } from "@yardmaster/dialects";
import { ControlExchange, type ExchangeHost, type ExchangeSettings } from "./control-exchange.js";
import type { Dialled } from "./wire.js";

export interface ExchangesHost {
  dial(worker: pulse.PulseDoorWorker): Dialled;
  /** `bytes` is the size of its extra data. */
  note(
    direction: "in" | "out",
    worker: pulse.PulseDoorWorker,
    type: string,
    message: object,
    bytes: number,
  ): void;
  /** `request` is the type of the request at which the worker made a mistake. */
  fault(kind: string, worker: pulse.PulseDoorWorker, request: string): void;
}

export class ControlExchanges {
  readonly #settings: ExchangeSettings;
  readonly #host: ExchangesHost;
  /** A living worker keeps its list. */
  readonly #open = new Map<pulse.PulseDoorWorker, ControlExchange[]>();

  constructor(settings: ExchangeSettings, host: ExchangesHost) {
    this.#settings = settings;
    this.#host = host;
  }

  begin(worker: pulse.PulseDoorWorker, request: pulse.ControlRequest): void {
    const { type, taskId, extra } = request;
    this.#host.note("out", worker, type, { taskId, extraSize: extra.length }, extra.length);
    const exchange = new ControlExchange(worker, request, this.#settings, this.#ends);
    const exchanges = this.#open.get(worker);
    if (exchanges === undefined) this.#open.set(worker, [exchange]);
    else exchanges.push(exchange);
    exchange.start();
  }

  /** The worker is gone. */
  hangUp(worker: pulse.PulseDoorWorker): void {
    // [pulse 4.8] RESTART must still be sent.
    const exchanges = this.#open.get(worker) ?? [];
    const last = exchanges.filter(({ type }) => type === "RESTART");
    for (const exchange of exchanges) if (!last.includes(exchange)) exchange.destroy();
    if (last.length === 0) this.#open.delete(worker);
    else this.#open.set(worker, last);
  }

  close(): void {
    for (const exchanges of this.#open.values()) for (const exchange of exchanges) exchange.destroy();
    this.#open.clear();
  }

  readonly #ends: ExchangeHost = {
    dial: ({ worker }) => this.#host.dial(worker),
    answered: (exchange, answer) => {
      this.#over(exchange);
      const { worker, type } = exchange;
      const { message, extra } = answer;
      this.#host.note("in", worker, String(message.error), message, extra.length);
      worker.answered(type, answer);
    },
    broken: (exchange, how, fault = how) => {
      this.#over(exchange);
      const { worker, type } = exchange;
      this.#host.fault(fault, worker, type);
      worker.broken(type, how);
    },
  };

  #over(exchange: ControlExchange): void {
    const { worker } = exchange;
    const exchanges = this.#open.get(worker);
    if (exchanges === undefined) return;
    exchanges.splice(exchanges.indexOf(exchange), 1);
    if (exchanges.length === 0 && worker.isGone) this.#open.delete(worker);
  }
}
