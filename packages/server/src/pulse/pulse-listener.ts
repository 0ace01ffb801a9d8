// main.sock: each connection brings one pulse, is answered and closed. Who says nothing is not kept for long, and when too
// many do, the one that has said nothing for longest makes room.

import { pulse } from "@yardmaster/dialects";
import type { Wait, Waits } from "../door-kit/waits.js";
import type { Wire } from "./wire.js";

export type ReceivedPulse = pulse.WorkerPulse & { readonly numbering: pulse.Numbering };

export interface ListenerOptions {
  readonly waits: Waits;
  readonly connectionsMax: number;
  readonly pulseMsMax: number;
  readonly numberingOf: (type: number, workerId: bigint) => pulse.Numbering;
  /** `respond` is called once, now or later. */
  readonly onPulse: (received: ReceivedPulse, respond: (response: pulse.PulseResponse) => void) => void;
  readonly onFault: (kind: string) => void;
}

const limits: pulse.FramerLimits = { messageBytesMax: pulse.messageBytesMax, extraBytesMax: 0 };

export class PulseListener {
  readonly #options: ListenerOptions;
  /** The oldest first. */
  readonly #connections = new Map<Wire, Wait>();

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Ends every connection. */
  close(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  accept(socket: Wire): void {
    const { waits, connectionsMax, pulseMsMax, onFault } = this.#options;
    const [oldest] = this.#connections.keys();
    if (this.#connections.size >= connectionsMax && oldest !== undefined) {
      onFault("too_many_connections");
      this.#drop(oldest);
    }
    const wait = waits.start(() => {
      onFault("silent_connection");
      this.#drop(socket);
    }, pulseMsMax);
    this.#connections.set(socket, wait);
    const framer = this.#framer();
    socket.on("data", (chunk) => this.#read(socket, framer, chunk));
    socket.once("error", () => this.#drop(socket));
    socket.once("close", () => this.#drop(socket));
  }

  #framer(): pulse.MessageFramer<ReceivedPulse> {
    const { numberingOf } = this.#options;
    return new pulse.MessageFramer((bytes) => pulse.readPulse(bytes, numberingOf), pulse.noExtra, limits);
  }

  #read(socket: Wire, framer: pulse.MessageFramer<ReceivedPulse>, chunk: Buffer): void {
    const reading = framer.push(chunk);
    if (reading === undefined) return;
    if (reading.ok) {
      const { message } = reading.message;
      this.#options.onPulse(message, (response) => this.#answer(socket, response, message.numbering));
      return;
    }
    // [pulse 1.6]
    this.#options.onFault(reading.fault);
    this.#answer(socket, { error: "FAILED" }, this.#options.numberingOf(okType, 0n));
  }

  /** [pulse 1.4] The answering side closes. */
  #answer(socket: Wire, response: pulse.PulseResponse, numbering: pulse.Numbering): void {
    socket.end(pulse.writePulseResponse(response, numbering), () => socket.destroy());
  }

  #drop(socket: Wire): void {
    this.#options.waits.end(this.#connections.get(socket));
    this.#connections.delete(socket);
    socket.destroy();
  }
}

/** Of a pulse that nobody could read: its numbering is that of the setting, or the document's. */
const okType = 1;
