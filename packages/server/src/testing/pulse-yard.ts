// For tests of the pulse door: a whole yard in memory behind real sockets, in a folder of its own, and workers that answer
// what the test says.

import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pulse } from "@yardmaster/dialects";
import type { DoorConfig } from "../config/door-settings.js";
import { Tap } from "../door-kit/tap.js";
import { PulseDoor, type PulseDoorOptions } from "../doors/pulse.js";
import { DoorYard } from "./door-yard.js";
import { type MemoryRuntimeOptions, until } from "./memory-runtime.js";

export interface PulseYardOptions
  extends MemoryRuntimeOptions,
    Pick<PulseDoorOptions, "connectionsMax" | "times"> {
  readonly config?: Partial<DoorConfig<"pulse">>;
  readonly tap?: Tap;
}

export class PulseYard extends DoorYard {
  readonly door: PulseDoor;
  readonly folder = mkdtempSync(join(tmpdir(), "yard-pulse-"));
  readonly dir: string;
  readonly #workers: TestWorker[] = [];

  constructor({ config, tap = new Tap(), connectionsMax, times, ...options }: PulseYardOptions = {}) {
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

  /** Bytes on a connection to main.sock; all that is answered before it is closed, in hexadecimal. */
  async say(bytes: Buffer): Promise<string> {
    const socket = createConnection(this.mainPath);
    socket.write(bytes);
    return (await allOf(socket)).toString("hex");
  }

  /** A pulse, and what it is answered: "OK", or "OK 1" where there is an id. */
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

  /** Registers, and nothing more. */
  async registered(options: { next?: number; numbering?: pulse.Numbering } = {}): Promise<TestWorker> {
    const answer = await this.pulse("REGISTER", options);
    const worker = new TestWorker(this, BigInt(answer.replace("OK ", "")), options);
    this.#workers.push(worker);
    return worker;
  }
}

/** All that comes before the other end closes. */
export async function allOf(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  await new Promise((done) => socket.once("close", done));
  return Buffer.concat(chunks);
}

export class TestWorker {
  readonly id: bigint;
  readonly asked: Asked[] = [];
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

  /** The next thing that it was or will be asked. */
  next(): Promise<Asked> {
    return until(() => this.asked.shift());
  }

  /** Takes the next task and answers that it has; its number. */
  async take(): Promise<number> {
    const asked = await this.next();
    asked.answer("OK", { task: asked.task });
    return asked.task;
  }

  /** Offers a solution of what it took, and has it fetched. */
  async deliver(task: number, solution: string | Buffer): Promise<void> {
    await this.pulse("FETCH_ME", task);
    (await this.next()).answer("OK", { task, extra: solution });
  }

  /** As a process that is killed: connections and socket are gone; what lies in the folder stays. */
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
      if (reading?.ok) this.asked.push(new Asked(socket, reading.message, numbering));
    });
  }
}

/** A control message that waits for its answer. */
export class Asked {
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
