// main.sock: each connection brings one pulse, is answered and closed. A silent connection is
// closed soon, and if there are too many, the one that was silent for longest is closed first.

import { Chain } from "@yardmaster/core";
import { pulse } from "@yardmaster/dialects";
import type { Wait, Waits } from "../door-kit/waits.js";
import type { Wire } from "./wire.js";

export type ReceivedPulse = pulse.WorkerPulse & { readonly numbering: pulse.Numbering };

export interface ListenerOptions {
  readonly waits: Waits;
  readonly connectionsMax: number;
  readonly pulseMsMax: number;
  readonly numberingOf: (type: number, workerId: bigint, taskId?: bigint) => pulse.Numbering;
  /** `respond` is called once, now or later. */
  readonly onPulse: (received: ReceivedPulse, respond: (response: pulse.PulseResponse) => void) => void;
  readonly onFault: (kind: string) => void;
}

const limits: pulse.FramerLimits = { messageBytesMax: pulse.messageBytesMax, extraBytesMax: 0 };

/** An accepted connection. */
class Connection {
  readonly socket: Wire;
  readonly framer: pulse.MessageFramer<ReceivedPulse>;
  wait: Wait | undefined = undefined;
  isOpen = true;
  previous: Connection | undefined = undefined;
  next: Connection | undefined = undefined;

  constructor(socket: Wire, framer: pulse.MessageFramer<ReceivedPulse>) {
    this.socket = socket;
    this.framer = framer;
  }
}

export class PulseListener {
  readonly #options: ListenerOptions;
  readonly #readPulse: (bytes: Buffer) => pulse.Reading<ReceivedPulse>;
  readonly #connections = new Chain<Connection>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#readPulse = (bytes) => pulse.readPulse(bytes, options.numberingOf);
  }

  /** Ends every connection. */
  close(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  accept(socket: Wire): void {
    const { waits, connectionsMax, pulseMsMax, onFault } = this.#options;
    const { size, first: oldest } = this.#connections;
    if (size >= connectionsMax && oldest !== undefined) {
      onFault("too_many_connections");
      this.#drop(oldest);
    }
    const connection = new Connection(
      socket,
      new pulse.MessageFramer(this.#readPulse, pulse.noExtra, limits),
    );
    connection.wait = waits.start(() => {
      onFault("silent_connection");
      this.#drop(connection);
    }, pulseMsMax);
    this.#connections.add(connection);
    const drop = () => this.#drop(connection);
    socket.on("data", (chunk) => this.#read(connection, chunk));
    socket.on("error", drop);
    socket.on("close", drop);
  }

  #read({ socket, framer }: Connection, chunk: Buffer): void {
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

  #drop(connection: Connection): void {
    if (!connection.isOpen) return;
    connection.isOpen = false;
    this.#options.waits.end(connection.wait);
    this.#connections.remove(connection);
    connection.socket.destroy();
  }
}

/**
 * The answer to a pulse that could not be read uses the configured numbering, or the document's.
 */
const okType = 1;
