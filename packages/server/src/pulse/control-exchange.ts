// One exchange with a worker: connect to its socket, write, read the answer, close. It ends once, with an answer or
// without; what either means is not its business.

import { pulse } from "@yardmaster/dialects";
import type { Wait, Waits } from "../door-kit/waits.js";
import { type Dialled, notASocket, type PulseTimes, type Wire } from "./wire.js";

export interface ExchangeOptions {
  readonly dial: () => Dialled;
  readonly request: pulse.ControlRequest;
  readonly numbering: pulse.Numbering;
  readonly extraBytesMax: number;
  readonly waits: Waits;
  readonly times: PulseTimes;
  /** [pulse 4.1] Whether a silence may go on. */
  readonly mayBeSilent: () => boolean;
  readonly onConnected: () => void;
  readonly onAnswer: (answer: pulse.WithExtra<pulse.WorkerResponse>) => void;
  /** `fault`: what the worker did wrong, where it did. */
  readonly onBroken: (how: pulse.Breakage, fault?: string) => void;
}

const connectAgainMs = 50;
/** Not the worker's doing: its backlog is full, or we have no descriptor left. */
const passing = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOBUFS"]);

export class ControlExchange {
  readonly #options: ExchangeOptions;
  readonly #framer: pulse.MessageFramer<pulse.WorkerResponse>;
  #socket: Wire | undefined;
  #wait: Wait | undefined;
  #triedMs = 0;
  #isOver = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const { numbering, extraBytesMax } = options;
    this.#framer = new pulse.MessageFramer(
      (bytes) => pulse.readWorkerResponse(bytes, numbering),
      pulse.extraSizeOf,
      { messageBytesMax: pulse.messageBytesMax, extraBytesMax },
    );
  }

  /** Ends later, never from inside this call. */
  start(): void {
    this.#connect();
  }

  get type(): pulse.ControlWord {
    return this.#options.request.type;
  }

  /** Ends it without a word. */
  destroy(): void {
    this.#isOver = true;
    this.#options.waits.end(this.#wait);
    this.#socket?.destroy();
  }

  #connect(): void {
    const dialled = this.#options.dial();
    if ("wire" in dialled) this.#dial(dialled.wire);
    else this.#wait = this.#options.waits.start(() => this.#missed(dialled.missed), 0);
  }

  #dial(socket: Wire): void {
    this.#socket = socket;
    let isConnected = false;
    socket.once("connect", () => {
      isConnected = true;
      this.#connected(socket);
    });
    socket.once("error", ({ code = "unknown" }: NodeJS.ErrnoException) => {
      if (isConnected) this.#break("broken");
      else this.#missed(code);
    });
    socket.once("close", () => {
      if (isConnected) this.#break("broken");
    });
  }

  /** Tried again while the worker boots, or while it is not the worker's doing. */
  #missed(code: string): void {
    if (this.#isOver) return;
    if (code === notASocket) {
      this.#break("unreachable", "not_a_socket");
      return;
    }
    const mayCome = this.#options.request.isBooting || passing.has(code);
    if (!mayCome || this.#triedMs >= this.#options.times.connectMsMax) {
      this.#break("unreachable");
      return;
    }
    this.#triedMs += connectAgainMs;
    this.#wait = this.#options.waits.start(() => this.#connect(), connectAgainMs);
  }

  #connected(socket: Wire): void {
    if (this.#isOver) return;
    this.#options.onConnected();
    this.#write(socket);
    socket.on("data", (chunk) => this.#read(chunk));
    // [pulse 1.4] One that only stops writing has not answered.
    socket.once("end", () => this.#break("broken"));
    socket.on("drain", () => this.#sawLife());
    this.#wait = this.#options.waits.start(() => this.#silent(), this.#options.times.silenceMs);
  }

  /** The task's bytes are handed over as they are: the system takes as much at a time as the worker reads. */
  #write(socket: Wire): void {
    const { type, taskId, extra } = this.#options.request;
    const message = {
      type,
      extraSize: BigInt(extra.length),
      ...(taskId === undefined ? {} : { taskId }),
    };
    socket.cork();
    socket.write(pulse.writeControl(message, this.#options.numbering));
    if (extra.length > 0) socket.write(extra);
    socket.uncork();
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    const reading = this.#framer.push(chunk);
    if (reading === undefined) this.#sawLife();
    else if (!reading.ok) this.#break("broken", reading.fault);
    else {
      this.destroy();
      this.#options.onAnswer(reading.message);
    }
  }

  #sawLife(): void {
    const { waits, times } = this.#options;
    if (this.#wait !== undefined && !this.#isOver) waits.again(this.#wait, times.silenceMs);
  }

  #silent(): void {
    if (this.#options.mayBeSilent()) this.#sawLife();
    else this.#break("silent");
  }

  #break(how: pulse.Breakage, fault?: string): void {
    if (this.#isOver) return;
    this.destroy();
    this.#options.onBroken(how, fault);
  }
}
