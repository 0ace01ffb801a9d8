// One exchange with a worker: connect to its socket, write, read the answer, close. It ends once,
// with an answer or without. The caller interprets both.

import { pulse } from "@yardmaster/dialects";
import type { Wait, Waits } from "../door-kit/waits.js";
import { type Dialled, notASocket, type PulseTimes, type Wire } from "./wire.js";

/** Settings that all exchanges of a door share. */
export interface ExchangeSettings {
  readonly extraBytesMax: number;
  readonly waits: Waits;
  readonly times: PulseTimes;
}

/** The worker at the other end, and the callbacks of the caller. One of the two is called, once. */
export interface ExchangeHost {
  dial(exchange: ControlExchange): Dialled;
  answered(exchange: ControlExchange, answer: pulse.WithExtra<pulse.WorkerResponse>): void;
  /** `fault` names the worker's mistake, if it made one. */
  broken(exchange: ControlExchange, how: pulse.Breakage, fault?: string): void;
}

const connectAgainMs = 50;
/** Up to this size, copying costs less than a second write. */
const togetherBytesMax = 16_384;
/** Not the worker's fault: its backlog is full, or this process has no file descriptor left. */
const passing = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOBUFS"]);

export class ControlExchange {
  readonly worker: pulse.PulseDoorWorker;
  readonly request: pulse.ControlRequest;
  readonly #settings: ExchangeSettings;
  readonly #host: ExchangeHost;
  readonly #framer: pulse.MessageFramer<pulse.WorkerResponse>;
  #socket: Wire | undefined;
  #wait: Wait | undefined;
  #triedMs = 0;
  #isOver = false;

  constructor(
    worker: pulse.PulseDoorWorker,
    request: pulse.ControlRequest,
    settings: ExchangeSettings,
    host: ExchangeHost,
  ) {
    this.worker = worker;
    this.request = request;
    this.#settings = settings;
    this.#host = host;
    const { messageBytesMax } = pulse;
    this.#framer = new pulse.MessageFramer(readers[worker.numbering], pulse.extraSizeOf, {
      messageBytesMax,
      extraBytesMax: settings.extraBytesMax,
    });
  }

  /** Ends later, never during this call. */
  start(): void {
    this.#connect();
  }

  get type(): pulse.ControlWord {
    return this.request.type;
  }

  /** Ends the exchange without reporting anything. */
  destroy(): void {
    this.#isOver = true;
    this.#settings.waits.end(this.#wait);
    this.#socket?.destroy();
  }

  #connect(): void {
    const dialled = this.#host.dial(this);
    if ("wire" in dialled) this.#dial(dialled.wire);
    else this.#wait = this.#settings.waits.start(() => this.#missed(dialled.missed), 0);
  }

  #dial(socket: Wire): void {
    this.#socket = socket;
    let isConnected = false;
    socket.on("connect", () => {
      isConnected = true;
      this.#connected(socket);
    });
    socket.on("error", ({ code = "unknown" }: NodeJS.ErrnoException) => {
      if (isConnected) this.#break("broken");
      else this.#missed(code);
    });
    socket.on("close", () => {
      if (isConnected) this.#break("broken");
    });
  }

  /** Retries while the worker starts, or if the failure is not its fault. */
  #missed(code: string): void {
    if (this.#isOver) return;
    if (code === notASocket) {
      this.#break("unreachable", "not_a_socket");
      return;
    }
    const { times, waits } = this.#settings;
    const mayCome = this.request.isBooting || passing.has(code);
    if (!mayCome || this.#triedMs >= times.connectMsMax) {
      this.#break("unreachable");
      return;
    }
    this.#triedMs += connectAgainMs;
    this.#wait = waits.start(() => this.#connect(), connectAgainMs);
  }

  #connected(socket: Wire): void {
    if (this.#isOver) return;
    const { times, waits } = this.#settings;
    this.worker.connected();
    this.#write(socket);
    socket.on("data", (chunk) => this.#read(chunk));
    // [pulse 1.4] A worker that closes its sending side has not answered.
    socket.on("end", () => this.#break("broken"));
    this.#wait = waits.start(() => this.#silent(), times.silenceMs);
  }

  /** Large task bytes are written without copying: the system takes as much as the worker reads. */
  #write(socket: Wire): void {
    const { type, taskId, extra } = this.request;
    const extraSize = BigInt(extra.length);
    const message = taskId === undefined ? { type, extraSize } : { type, extraSize, taskId };
    const head = pulse.writeControl(message, this.worker.numbering);
    if (extra.length <= togetherBytesMax) {
      socket.write(extra.length === 0 ? head : Buffer.concat([head, extra]));
      return;
    }
    socket.on("drain", () => this.#sawLife());
    socket.cork();
    socket.write(head);
    socket.write(extra);
    socket.uncork();
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    const reading = this.#framer.push(chunk);
    if (reading === undefined) this.#sawLife();
    else if (!reading.ok) this.#break("broken", reading.fault);
    else {
      this.destroy();
      this.#host.answered(this, reading.message);
    }
  }

  #sawLife(): void {
    const { waits, times } = this.#settings;
    if (this.#wait !== undefined && !this.#isOver) waits.again(this.#wait, times.silenceMs);
  }

  #silent(): void {
    // [pulse 4.1]
    if (this.worker.mayBeSilent) this.#sawLife();
    else this.#break("silent");
  }

  #break(how: pulse.Breakage, fault?: string): void {
    if (this.#isOver) return;
    this.destroy();
    this.#host.broken(this, how, fault);
  }
}

const readers = {
  document: (bytes: Buffer) => pulse.readWorkerResponse(bytes, "document"),
  main: (bytes: Buffer) => pulse.readWorkerResponse(bytes, "main"),
} as const satisfies Record<pulse.Numbering, unknown>;
