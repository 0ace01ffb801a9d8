// The pulse door: main.sock and the workers' sockets, around the dialect's controller.

import { join, resolve } from "node:path";
import { type Effect, earlier, type Instant, type Moment, type WorkerId, wallOf } from "@yardmaster/core";
import { pulse } from "@yardmaster/dialects";
import type { Access } from "../access/access.js";
import { AnonymousPeers } from "../door-kit/anonymous-peers.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults, type LogFault } from "../door-kit/faults.js";
import type { Tap } from "../door-kit/tap.js";
import { Waits } from "../door-kit/waits.js";
import { ControlExchanges } from "../pulse/control-exchanges.js";
import { PulseListener, type ReceivedPulse } from "../pulse/pulse-listener.js";
import { openSocketFolder } from "../pulse/socket-folder.js";
import { defaultPulseTimes, type OpenFolder, type PulseFolder, type PulseTimes } from "../pulse/wire.js";
import type { DoorConfig } from "../registry/doors.js";
import type { Silence } from "../watching/alerts.js";

export interface PulseDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"pulse">;
  /** The yard's data folder. Sockets go there if the configured folder cannot be used. */
  readonly data: string;
  readonly payloadBytesMax: number;
  readonly peersMax: number;
  readonly log: LogFault;
  readonly tap: Tap;
  /** Maximum number of simultaneous connections to main.sock. */
  readonly connectionsMax?: number;
  readonly times?: Partial<PulseTimes>;
  readonly openFolder?: OpenFolder;
  /** Absent: every worker may work. */
  readonly access?: Access;
}

/**
 * Enough for all workers of a large yard to pulse within one second, and within the usual limit of
 * open files.
 */
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
  readonly #peers: AnonymousPeers;
  readonly #exchanges: ControlExchanges;
  #folder: PulseFolder | undefined;

  constructor(options: PulseDoorOptions) {
    const { port, config, peersMax, connectionsMax = connectionsMaxDefault } = options;
    this.#options = options;
    this.#port = port;
    this.#tap = options.tap;
    this.faults = new Faults(options.log, () => port.now());
    // [pulse 3.11]
    this.#peers = new AnonymousPeers(this.name, config.queue, options.access, () => port.now());
    this.#waits = new Waits(() => port.now());
    this.#times = { ...defaultPulseTimes, ...options.times };
    const { payloadBytesMax: extraBytesMax } = options;
    this.#exchanges = new ControlExchanges(
      { extraBytesMax, waits: this.#waits, times: this.#times },
      {
        dial: (worker) => this.#folder?.dial(worker.id) ?? { missed: "ENOENT" },
        note: (direction, worker, type, message, bytes) =>
          this.#note(direction, worker.id, type, message, bytes),
        fault: (kind, worker, request) => this.faults.add(kind, worker.address, request),
      },
    );
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
        control: (worker, request) => this.#exchanges.begin(worker, request),
        fault: (kind, worker, detail) => this.faults.add(kind, worker, detail),
        gone: (worker) => this.#exchanges.hangUp(worker),
      },
    );
    this.#listener = new PulseListener({
      waits: this.#waits,
      connectionsMax,
      pulseMsMax: this.#times.pulseMsMax,
      numberingOf: this.#controller.numberingOf,
      onPulse: (received, respond) => this.#answer(received, respond),
      onFault: (kind) => this.faults.add(kind, "main.sock"),
    });
  }

  /** [pulse 5.3] Where the sockets are, if not in the configured folder. */
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
    const folder = openFolder(dir, this.#insteadDir, this.#options.config);
    this.#folder = folder;
    this.#controller.remember(this.#port.takeMemos(), this.#port.now());
    await folder.listen(
      (wire) => this.#listener.accept(wire),
      () => this.faults.add("not_accepted", "main.sock"),
    );
    for (const id of folder.workerIds()) {
      // [pulse 4.7] In the wrong numbering a question would be read as a command, so the numbering
      // must be known.
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
    return earlier(this.#controller.nextDeadline(), this.#waits.nextDeadline());
  }

  async close(): Promise<void> {
    this.#exchanges.close();
    this.#listener.close();
    await this.#folder?.close();
  }

  #answer(received: ReceivedPulse, respond: (response: pulse.PulseResponse) => void): void {
    this.#note("in", received.workerId, String(received.type), received);
    if (!this.#peers.may("work")) {
      this.faults.add("denied", String(received.workerId), "it may not work");
      return respond({ error: "FAILED" });
    }
    this.#controller.receive(received, this.#port.now(), (response) => {
      this.#note("out", received.workerId, String(response.error), response);
      respond(response);
    });
  }

  silenceOf(worker: WorkerId, now: Moment): Silence | undefined {
    const { limitMs, silentAt } = this.#controller.silenceOf(worker) ?? {};
    const at = wallOf(silentAt, now);
    return at === undefined || limitMs === undefined ? undefined : { limitMs, silentAt: at };
  }

  /** `bytes` is the size of its extra data; the messages themselves are small. */
  #note(direction: "in" | "out", id: bigint, type: string, message: object, bytes = 0): void {
    this.#tap.count(this.name, direction, type, bytes);
    if (!this.#tap.isOpen) return;
    const content = () =>
      Object.fromEntries(Object.entries(message).map(([key, value]) => [key, String(value)]));
    this.#tap.show({ door: this.name, direction, side: "worker", peer: String(id), type, bytes, content });
  }
}
