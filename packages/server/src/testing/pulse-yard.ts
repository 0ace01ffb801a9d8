// For tests of the pulse door: a whole yard in memory behind real sockets in a temporary folder,
// and workers that answer what the test says.

import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pulse } from "@yardmaster/dialects";
import { Tap } from "../door-kit/tap.js";
import { PulseDoor, type PulseDoorOptions } from "../doors/pulse.js";
import type { DoorConfig } from "../registry/doors.js";
import { DoorYard } from "./door-yard.js";
import { type MemoryRuntimeOptions, until } from "./memory-runtime.js";

export interface PulseYardOptions
  extends MemoryRuntimeOptions,
    Pick<PulseDoorOptions, "connectionsMax" | "times" | "access"> {
  readonly config?: Partial<DoorConfig<"pulse">>;
  readonly tap?: Tap;
}

export class PulseYard extends DoorYard {
  readonly door: PulseDoor;
  readonly folder = mkdtempSync(join(tmpdir(), "yard-pulse-"));
  readonly dir: string;
  readonly #workers: TestWorker[] = [];

  constructor({ config, tap = new Tap(), connectionsMax, times, access, ...options }: PulseYardOptions = {}) {
    super("pulse", options);
    this.dir = join(this.folder, "sockets");
    this.door = new PulseDoor({
      port: this.port,
      config: { dir: this.dir, numbering: "auto", queue: "pulse", ...config },
      data: join(this.folder, "data"),
      payloadBytesMax: options.payloadBytesMax ?? 100_000_000,
      peersMax: 1000,
      log: () => {},
      tap,
      ...(connectionsMax === undefined ? {} : { connectionsMax }),
      ...(times === undefined ? {} : { times }),
      ...(access && { access }),
    });
    this.attach(this.door);
  }

  get mainPath(): string {
    return join(this.dir, "main.sock");
  }

  async open(): Promise<this> {
    await this.runtime.start();
    await this.runtime.openDoors();
    return this;
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) worker.close();
    await this.runtime.stop(0);
    rmSync(this.folder, { recursive: true });
  }

  /** Sends bytes to main.sock and returns everything received until it closes, in hexadecimal. */
  async say(bytes: Buffer): Promise<string> {
    const socket = createConnection(this.mainPath);
    socket.write(bytes);
    return (await allOf(socket)).toString("hex");
  }

  /** Sends a pulse and returns the answer: "OK", or "OK 1" if it contains an id. */
  async pulse(
    type: pulse.PulseWord,
    fields: { id?: bigint; task?: number; next?: number; numbering?: pulse.Numbering } = {},
  ): Promise<string> {
    const { id = 0n, task = 0, next = 60, numbering = "document" } = fields;
    const message = { type, workerId: id, taskId: BigInt(task), nextPulse: BigInt(next) };
    const answer = Buffer.from(await this.say(pulse.writePulse(message, numbering)), "hex");
    const reading = pulse.readPulseResponse(answer.subarray(pulse.prefixBytes), numbering);
    if (!reading.ok) throw new Error(reading.fault);
    const { error, workerId } = reading.message;
    return workerId === undefined ? String(error) : `${error} ${workerId}`;
  }

  /** Registers, listens, and pulses once. */
  async worker(options: { next?: number; numbering?: pulse.Numbering } = {}): Promise<TestWorker> {
    const worker = await this.registered(options);
    await worker.listen();
    await worker.pulse("OK");
    return worker;
  }

  /** Only registers. */
  async registered(options: { next?: number; numbering?: pulse.Numbering } = {}): Promise<TestWorker> {
    const answer = await this.pulse("REGISTER", options);
    const worker = new TestWorker(this, BigInt(answer.replace("OK ", "")), options);
    this.#workers.push(worker);
    return worker;
  }
}

/** Everything that arrives before the other end closes. */
export async function allOf(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  await new Promise((done) => socket.once("close", done));
  return Buffer.concat(chunks);
}

export class TestWorker {
  readonly id: bigint;
  readonly asked: ReceivedControl[] = [];
  readonly server: Server;
  readonly #yard: PulseYard;
  readonly #options: { next?: number; numbering?: pulse.Numbering };
  readonly #sockets = new Set<Socket>();

  constructor(yard: PulseYard, id: bigint, options: { next?: number; numbering?: pulse.Numbering }) {
    this.#yard = yard;
    this.id = id;
    this.#options = options;
    this.server = createServer((socket) => this.#accept(socket));
  }

  get path(): string {
    return join(this.#yard.dir, `${this.id}.sock`);
  }

  get name(): string {
    return String(this.id);
  }

  listen(): Promise<void> {
    return new Promise((done) => this.server.listen(this.path, done));
  }

  pulse(type: pulse.PulseWord, task = 0): Promise<string> {
    return this.#yard.pulse(type, { id: this.id, task, ...this.#options });
  }

  /** The next control message, received already or in the future. */
  next(): Promise<ReceivedControl> {
    return until(() => this.asked.shift());
  }

  /** Accepts the next task and returns its number. */
  async take(): Promise<number> {
    const asked = await this.next();
    asked.answer("OK", { task: asked.task });
    return asked.task;
  }

  /** Offers the solution of its task and lets it be fetched. */
  async deliver(task: number, solution: string | Buffer): Promise<void> {
    await this.pulse("FETCH_ME", task);
    (await this.next()).answer("OK", { task, extra: solution });
  }

  /** Ends like a killed process: connections and socket close, but files in the folder stay. */
  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const { numbering = "document" } = this.#options;
    const framer = new pulse.MessageFramer((bytes) => pulse.readControl(bytes, numbering), pulse.extraSizeOf);
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("data", (chunk) => {
      const reading = framer.push(chunk);
      if (reading?.ok) this.asked.push(new ReceivedControl(socket, reading.message, numbering));
    });
  }
}

/** A control message that waits for its answer. */
export class ReceivedControl {
  readonly socket: Socket;
  readonly type: string;
  readonly task: number;
  readonly extra: Buffer;
  readonly #numbering: pulse.Numbering;

  constructor(
    socket: Socket,
    { message, extra }: pulse.WithExtra<pulse.ControlMessage>,
    numbering: pulse.Numbering,
  ) {
    this.socket = socket;
    this.type = String(message.type);
    this.task = Number(message.taskId ?? 0n);
    this.extra = extra;
    this.#numbering = numbering;
  }

  get told(): string {
    return this.task === 0 ? this.type : `${this.type} ${this.task} "${this.extra}"`;
  }

  answer(
    error: pulse.WorkerWord | number,
    { task = 0, extra = "" }: { task?: number; extra?: string | Buffer } = {},
  ): void {
    const bytes = Buffer.from(extra as string);
    const response = { error, taskId: BigInt(task), extraSize: BigInt(bytes.length) };
    this.socket.end(Buffer.concat([pulse.writeWorkerResponse(response, this.#numbering), bytes]));
  }
}
