// The pulse door: main.sock and the workers' own sockets around the dialect's controller.

import { join, resolve } from "node:path";
import type { Effect, Instant, Moment } from "@yardmaster/core";
import { pulse } from "@yardmaster/dialects";
import type { DoorConfig } from "../config/door-settings.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults, type LogFault } from "../door-kit/faults.js";
import type { Tap } from "../door-kit/tap.js";
import { Waits } from "../door-kit/waits.js";
import { ControlExchange, type ExchangeHost, type ExchangeSettings } from "../pulse/control-exchange.js";
import { PulseListener, type ReceivedPulse } from "../pulse/pulse-listener.js";
import { openSocketFolder } from "../pulse/socket-folder.js";
import { defaultPulseTimes, type OpenFolder, type PulseFolder, type PulseTimes } from "../pulse/wire.js";

export interface PulseDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"pulse">;
  /** Where the yard keeps its things: the sockets go there if they cannot go where they should. */
  readonly data: string;
  readonly payloadBytesMax: number;
  readonly peersMax: number;
  readonly log: LogFault;
  readonly tap: Tap;
  /** Of main.sock, at once. */
  readonly connectionsMax?: number;
  readonly times?: Partial<PulseTimes>;
  readonly openFolder?: OpenFolder;
}

/** Enough for all of a large yard's workers to pulse in the same second, and few enough for the system's descriptors. */
const connectionsMaxDefault = 4096;

export class PulseDoor implements Door {
  readonly name = "pulse";
  /** [pulse 4.7] */
  readonly resumes = true;
  readonly faults: Faults;
  readonly #options: PulseDoorOptions;
  readonly #port: Port;
  readonly #tap: Tap;
  readonly #waits: Waits;
  readonly #controller: pulse.PulseController;
  readonly #listener: PulseListener;
  readonly #times: PulseTimes;
  /** What is being asked of each worker now; a worker that lives keeps its list. */
  readonly #exchanges = new Map<pulse.PulseDoorWorker, ControlExchange[]>();
  readonly #exchangeSettings: ExchangeSettings;
  #folder: PulseFolder | undefined;

  constructor(options: PulseDoorOptions) {
    const { port, config, peersMax, connectionsMax = connectionsMaxDefault } = options;
    this.#options = options;
    this.#port = port;
    this.#tap = options.tap;
    this.faults = new Faults(options.log);
    this.#waits = new Waits(() => port.now());
    this.#times = { ...defaultPulseTimes, ...options.times };
    const { payloadBytesMax: extraBytesMax } = options;
    this.#exchangeSettings = { extraBytesMax, waits: this.#waits, times: this.#times };
    this.#controller = new pulse.PulseController(
      {
        door: this.name,
        queue: config.queue,
        numbering: config.numbering,
        workersMax: peersMax,
        addressOf: (id) => this.#folder?.workerPath(id) ?? "",
      },
      {
        post: (event) => port.post(event),
        control: (worker, request) => this.#control(worker, request),
        fault: (kind, worker, detail) => this.#fault(kind, worker, detail),
        gone: (worker) => this.#hangUp(worker),
      },
    );
    this.#listener = new PulseListener({
      waits: this.#waits,
      connectionsMax,
      pulseMsMax: this.#times.pulseMsMax,
      numberingOf: this.#controller.numberingOf,
      onPulse: (received, respond) => this.#answer(received, respond),
      onFault: (kind) => this.#fault(kind, "main.sock"),
    });
  }

  /** [pulse 5.3] Where the sockets are, if not where they should be. */
  get note(): string | undefined {
    const { dir } = this.#options.config;
    const isElsewhere = this.#folder !== undefined && this.#folder.dir !== resolve(dir);
    return isElsewhere ? `instead of ${dir}, which cannot be written` : undefined;
  }

  get #insteadDir(): string {
    return join(this.#options.data, "controller");
  }

  async open(): Promise<DoorAddresses> {
    const { dir, numbering } = this.#options.config;
    const { openFolder = openSocketFolder } = this.#options;
    const folder = openFolder(dir, this.#insteadDir);
    this.#folder = folder;
    this.#controller.remember(this.#port.takeMemos(), this.#port.now());
    await folder.listen(
      (wire) => this.#listener.accept(wire),
      () => this.#fault("not_accepted", "main.sock"),
    );
    for (const id of folder.workerIds()) {
      // [pulse 4.7] In the wrong numbering a question would be an order, so it has to be known.
      if (numbering === "auto") this.#controller.reserveIds(id);
      else this.#controller.adopt({ id, numbering, nextPulse: 0n }, this.#port.now());
    }
    return { dir: folder.dir };
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) this.#controller.deliver(effect);
  }

  handleTimeout(now: Moment): void {
    this.#controller.handleTimeout(now);
    this.#waits.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    const silence = this.#controller.nextDeadline();
    const wait = this.#waits.nextDeadline();
    if (silence === undefined || wait === undefined) return silence ?? wait;
    return silence < wait ? silence : wait;
  }

  /** Pulses go on being answered: what runs is finished through them. */
  stopAccepting(): void {}

  async close(): Promise<void> {
    for (const exchanges of this.#exchanges.values()) for (const exchange of exchanges) exchange.destroy();
    this.#exchanges.clear();
    this.#listener.close();
    await this.#folder?.close();
  }

  #answer(received: ReceivedPulse, respond: (response: pulse.PulseResponse) => void): void {
    this.#note("in", received.workerId, String(received.type), received);
    this.#controller.receive(received, this.#port.now(), (response) => {
      this.#note("out", received.workerId, String(response.error), response);
      respond(response);
    });
  }

  #control(worker: pulse.PulseDoorWorker, request: pulse.ControlRequest): void {
    if (this.#folder === undefined) return;
    const { type, taskId, extra } = request;
    this.#note("out", worker.id, type, { taskId, extraSize: extra.length }, extra.length);
    const exchange = new ControlExchange(worker, request, this.#exchangeSettings, this.#exchangeHost);
    const exchanges = this.#exchanges.get(worker);
    if (exchanges === undefined) this.#exchanges.set(worker, [exchange]);
    else exchanges.push(exchange);
    exchange.start();
  }

  readonly #exchangeHost: ExchangeHost = {
    dial: ({ worker }) => this.#folder?.dial(worker.id) ?? { missed: "ENOENT" },
    answered: (exchange, answer) => {
      this.#over(exchange);
      const { worker, type } = exchange;
      const { message, extra } = answer;
      this.#note("in", worker.id, String(message.error), message, extra.length);
      worker.answered(type, answer);
    },
    broken: (exchange, how, fault = how) => {
      this.#over(exchange);
      const { worker, type } = exchange;
      this.#fault(fault, worker.address, type);
      worker.broken(type, how);
    },
  };

  #over(exchange: ControlExchange): void {
    const { worker } = exchange;
    const exchanges = this.#exchanges.get(worker);
    if (exchanges === undefined) return;
    exchanges.splice(exchanges.indexOf(exchange), 1);
    if (exchanges.length === 0 && worker.isGone) this.#exchanges.delete(worker);
  }

  #hangUp(worker: pulse.PulseDoorWorker): void {
    // [pulse 4.8] RESTART is still to be said.
    const exchanges = this.#exchanges.get(worker) ?? [];
    const last = exchanges.filter(({ type }) => type === "RESTART");
    for (const exchange of exchanges) if (!last.includes(exchange)) exchange.destroy();
    if (last.length === 0) this.#exchanges.delete(worker);
    else this.#exchanges.set(worker, last);
  }

  #fault(kind: string, peer: string, detail?: string): void {
    this.faults.add(kind, peer, this.#port.now(), detail);
  }

  /** `bytes`: of its extra data; the messages themselves are small. */
  #note(direction: "in" | "out", id: bigint, type: string, message: object, bytes = 0): void {
    this.#tap.count(this.name, direction, type, bytes);
    if (!this.#tap.isOpen) return;
    const content = Object.fromEntries(Object.entries(message).map(([key, value]) => [key, String(value)]));
    this.#tap.show({ door: this.name, direction, peer: String(id), type, bytes, content });
  }
}
