// main.sock: each connection brings one pulse, is answered and closed. Who says nothing is not kept for long, and when too
// many do, the one that has said nothing for longest makes room.

import { createServer, type Server, type Socket } from "node:net";
import { pulse } from "@yardmaster/dialects";
import type { Wait, Waits } from "../door-kit/waits.js";

export type ReceivedPulse = pulse.WorkerPulse & { readonly numbering: pulse.Numbering };

export interface ListenerOptions {
  readonly waits: Waits;
  readonly connectionsMax: number;
  readonly numberingOf: (type: number, workerId: bigint) => pulse.Numbering;
  /** `respond` is called once, now or later. */
  readonly onPulse: (received: ReceivedPulse, respond: (response: pulse.PulseResponse) => void) => void;
  readonly onFault: (kind: string) => void;
}

/** [pulse 1.5] A pulse is one small write of a program on this machine. */
const pulseMsMax = 10_000;
const limits: pulse.FramerLimits = { messageBytesMax: pulse.messageBytesMax, extraBytesMax: 0 };

export class PulseListener {
  readonly server: Server;
  readonly #options: ListenerOptions;
  /** The oldest first. */
  readonly #connections = new Map<Socket, Wait>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.server = createServer((socket) => this.#accept(socket));
    // A connection that could not be taken, for want of descriptors: its peer tries again.
    this.server.on("error", () => options.onFault("not_accepted"));
  }

  close(): Promise<void> {
    for (const socket of this.#connections.keys()) socket.destroy();
    return new Promise((done) => {
      if (!this.server.listening) done();
      else this.server.close(() => done());
    });
  }

  #accept(socket: Socket): void {
    const { waits, connectionsMax, onFault } = this.#options;
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

  #read(socket: Socket, framer: pulse.MessageFramer<ReceivedPulse>, chunk: Buffer): void {
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
  #answer(socket: Socket, response: pulse.PulseResponse, numbering: pulse.Numbering): void {
    socket.end(pulse.writePulseResponse(response, numbering), () => socket.destroy());
  }

  #drop(socket: Socket): void {
    this.#options.waits.end(this.#connections.get(socket));
    this.#connections.delete(socket);
    socket.destroy();
  }
}

/** Of a pulse that nobody could read: its numbering is that of the setting, or the document's. */
const okType = 1;
