// A monique component: asks questions, answers them, publishes and hears data, says that it is there, and kills.

import { randomBytes } from "node:crypto";
import { monique } from "@yardmaster/dialects";
import { Push, Sub } from "@yardmaster/zmtp";
import { ArgumentError } from "../errors.js";
import { now } from "../time.js";
import {
  type MoniqueQuestion,
  type MoniqueTimes,
  MoniqueWorker,
  type MoniqueWorkerOptions,
  timesIn,
} from "./worker.js";

export interface MoniqueAddresses {
  /** tcp://host:port of each. */
  readonly in: string;
  readonly out: string;
  /** The technical channel, for monitoring and kill. */
  readonly techIn?: string;
  readonly techOut?: string;
}

export interface MoniqueComponentOptions {
  readonly scheduler: MoniqueAddresses;
  /** Who it is in its messages; without colons. */
  readonly creator: string;
  /** How it writes; every form is read. "d3" if absent. */
  readonly form?: "d1" | "d3";
  /** How long a new subscription is given to reach the scheduler before what needs it is asked. */
  readonly settleMs?: number;
  readonly onError?: (error: unknown) => void;
}

export interface AskOptions {
  /** "JSON" if absent. */
  readonly encoding?: string;
  /** After this long the question has no meaning any more, and is answered with an error. */
  readonly expiresMs?: number;
  /** The message that it follows from: the question that is being answered, say. */
  readonly pid?: string;
  /** It was sent, under this id, by which it can be killed. */
  readonly onAsked?: (id: string) => void;
  readonly signal?: AbortSignal;
}

export interface PublishOptions {
  /** "JSON" if absent. */
  readonly encoding?: string;
  /** After this long it is not passed on any more. */
  readonly expiresMs?: number;
  /** The message that it follows from. */
  readonly pid?: string;
}

/** A message as it was heard: an answer, or free data. */
export interface MoniqueData extends MoniqueTimes {
  readonly spec: string;
  readonly id: string;
  /** Of the question, if it is an answer; empty if it follows from nothing. */
  readonly pid: string;
  readonly creator: string;
  readonly encoding: string;
  readonly data: Buffer;
}

/** An answer that is an error: the worker's own, or the scheduler's. `code` is one of the document's numbers. */
export class MoniqueError extends Error {
  readonly code: number;
  /** The message that said so; undefined where none did. */
  readonly answer: MoniqueData | undefined;

  constructor(code: number, message: string, answer?: MoniqueData) {
    super(message);
    this.name = "MoniqueError";
    this.code = code;
    this.answer = answer;
  }
}

export interface MonitoringOptions {
  readonly name: string;
  readonly everyMs?: number;
  /** Asked before each report; alive with nothing to say if absent. */
  readonly status?: () => { readonly isAlive: boolean; readonly message: string };
}

interface Waiter {
  resolve(answer: MoniqueData): void;
  reject(error: Error): void;
}

const settleMs = 50;
const monitoringMs = 5_000;
const idBytes = 30;
const identityBytes = 16;

export class MoniqueComponent {
  readonly #options: MoniqueComponentOptions;
  readonly #form: "d1" | "d3";
  readonly #session: monique.MoniqueComponentSession<Waiter>;
  readonly #com: Outlet;
  readonly #tech: Outlet | undefined;
  readonly #sub: Sub;
  readonly #techSub: Sub | undefined;
  readonly #subscribed = new Map<string, Promise<void>>();
  readonly #hearers = new Map<string, Set<(data: MoniqueData) => void>>();
  readonly #workers = new Set<MoniqueWorker>();
  readonly #monitors = new Set<NodeJS.Timeout>();
  readonly #connected: Promise<unknown>;

  constructor(options: MoniqueComponentOptions) {
    if (!monique.isCreator(options.creator)) {
      const found = JSON.stringify(options.creator);
      throw new ArgumentError("bad_argument", `creator: found ${found}, expected a name without colons`);
    }
    this.#options = options;
    this.#form = options.form ?? "d3";
    const makeId = () => randomBytes(idBytes).toString("base64").replaceAll("+", "0").replaceAll("/", "1");
    this.#session = new monique.MoniqueComponentSession({
      creator: options.creator,
      form: this.#form,
      makeId,
    });
    const { in: to, out, techIn, techOut } = options.scheduler;
    // [monique 2.8] By this name the dispatcher knows that both connections are ours, and need not wait.
    const identity = randomBytes(identityBytes).toString("hex");
    this.#com = new Outlet(to, identity);
    this.#tech = techIn === undefined ? undefined : new Outlet(techIn, identity);
    const heard = resolvers();
    this.#sub = new Sub({
      identity,
      onPeer: () => heard.resolve(),
      onMessage: (_peer, frames) => this.#hear(frames),
    });
    this.#sub.connect(out);
    this.#techSub = techOut === undefined ? undefined : this.#connectTech(techOut);
    this.#connected = Promise.all([heard.promise, this.#com.connected]);
  }

  /** The answer. Rejects with a `MoniqueError`; with an `AbortError` when it is not waited for any more. */
  async ask(spec: string, data: Uint8Array | string, options: AskOptions = {}): Promise<MoniqueData> {
    const { signal, encoding = "JSON", pid = "", expiresMs } = options;
    signal?.throwIfAborted();
    // [monique 2.8] What is answered before the subscription is there is not heard.
    await this.#subscribe([
      monique.prefixOf(this.#form, "result", spec),
      monique.prefixOf(this.#form, "error", spec),
      monique.prefixOf(this.#form, "error", "error"),
    ]);
    signal?.throwIfAborted();
    return this.#question(
      { spec, data: bufferOf(data), encoding, pid, expiresAt: endOf(expiresMs) },
      options,
    );
  }

  #question(said: monique.Said, { signal, onAsked }: AskOptions): Promise<MoniqueData> {
    return new Promise((resolve, reject) => {
      const abandon = () => {
        this.#session.forget(question.id);
        reject(signal?.reason);
      };
      const settle = () => signal?.removeEventListener("abort", abandon);
      const waiter: Waiter = {
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const question = this.#session.ask(said, waiter, now());
      signal?.addEventListener("abort", abandon);
      this.#com.send(this.#write(question));
      onAsked?.(question.id);
    });
  }

  /** Its id, under which others may refer to it. */
  publish(spec: string, data: Uint8Array | string, options: PublishOptions | string = {}): string {
    const {
      encoding = "JSON",
      pid = "",
      expiresMs,
    } = typeof options === "string" ? { encoding: options } : options;
    const said = { spec, data: bufferOf(data), encoding, pid, expiresAt: endOf(expiresMs) };
    const message = this.#session.publish(said, now());
    this.#com.send(this.#write(message));
    return message.id;
  }

  /** Hears free data of a spec; resolves when it does. */
  async subscribe(spec: string, take: (data: MoniqueData) => void): Promise<void> {
    const hearers = this.#hearers.get(spec) ?? new Set();
    this.#hearers.set(spec, hearers.add(take));
    await this.#subscribe([monique.prefixOf(this.#form, "data", spec)]);
  }

  /** Answers the questions of a spec: given by a controller, or, without one, heard like everybody's. */
  async answer(
    spec: string,
    work: MoniqueWorkerOptions["work"],
    controller?: string,
  ): Promise<MoniqueWorker> {
    const { onError } = this.#options;
    const worker = new MoniqueWorker({
      ...{ spec, work, session: this.#session },
      ...(controller !== undefined && { controller }),
      ...(onError && { onError }),
      send: (message) => this.#com.send(this.#write(message)),
    });
    this.#workers.add(worker);
    if (controller === undefined) await this.#subscribe([monique.prefixOf(this.#form, "config", spec)]);
    await Promise.all([this.#connected, worker.connected]);
    return worker;
  }

  /** Says at once and then every so often that it is there; until the function returned is called. */
  monitor({ name, everyMs = monitoringMs, status }: MonitoringOptions): () => void {
    const tech = this.#needTech();
    const report = () => {
      const { isAlive, message } = status?.() ?? { isAlive: true, message: "" };
      tech.send(this.#write(this.#session.report({ name, isAlive, message }, now())));
    };
    report();
    const timer = setInterval(report, everyMs);
    this.#monitors.add(timer);
    return () => {
      clearInterval(timer);
      this.#monitors.delete(timer);
    };
  }

  /** Has a question given up, whoever asked it. */
  kill(id: string): void {
    this.#needTech().send(this.#write(this.#session.kill(id, now())));
  }

  /** Lets what it works on finish, and is gone. */
  async close(): Promise<void> {
    for (const timer of this.#monitors) clearInterval(timer);
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    for (const { reject } of this.#session.takeAll()) {
      reject(new MoniqueError(200, "The component was closed before the answer came."));
    }
    await Promise.all([this.#com.close(), this.#tech?.close(), this.#sub.close(), this.#techSub?.close()]);
  }

  #hear(frames: Buffer[]): void {
    const reading = monique.readMessage(frames);
    if (!reading.ok) return;
    const { header, content } = reading;
    const [, frame] = frames as [Buffer, Buffer];
    const { spec, id, pid, creator, type } = header;
    const data = content === undefined ? frame : monique.dataIn(content, frame);
    const heard = { spec, id, pid, creator, encoding: content?.encoding ?? "", data, ...timesIn(content) };
    if (type === "data") for (const take of this.#hearers.get(spec) ?? []) take(heard);
    else if (type === "config") this.#offer({ ...heard, type });
    else {
      const waiter = this.#session.take(header);
      if (type === "result") waiter?.resolve(heard);
      else waiter?.reject(errorOf(content, frame, heard));
    }
  }

  /** To the workers that hear questions like everybody. */
  #offer(question: MoniqueQuestion): void {
    for (const worker of this.#workers)
      if (!worker.isGiven && worker.spec === question.spec) worker.take(question);
  }

  #connectTech(endpoint: string): Sub {
    const sub = new Sub({
      onMessage: (_peer, frames) => {
        const id = killedIn(frames);
        if (id !== undefined) for (const worker of this.#workers) worker.kill(id);
      },
    });
    // In whatever form they come: kills are few.
    sub.subscribe("");
    sub.connect(endpoint);
    return sub;
  }

  #needTech(): Outlet {
    if (this.#tech === undefined) throw new TypeError("monitoring and kill need scheduler.techIn");
    return this.#tech;
  }

  async #subscribe(prefixes: readonly string[]): Promise<void> {
    await Promise.all([this.#connected, ...new Set(prefixes.map((prefix) => this.#settled(prefix)))]);
  }

  #settled(prefix: string): Promise<void> {
    const known = this.#subscribed.get(prefix);
    if (known !== undefined) return known;
    this.#sub.subscribe(prefix);
    const wait = this.#options.settleMs ?? settleMs;
    const settled = this.#connected.then(() => new Promise<void>((resolve) => setTimeout(resolve, wait)));
    this.#subscribed.set(prefix, settled);
    return settled;
  }

  #write(message: monique.MoniqueMessage): Buffer[] {
    return monique.writeMessage(message, this.#form);
  }
}

/** A PUSH that keeps what there is no connection for yet. */
class Outlet {
  readonly connected: Promise<void>;
  readonly #push: Push;
  readonly #unsent: Buffer[][] = [];

  constructor(endpoint: string, identity: string) {
    const { promise, resolve } = resolvers();
    this.connected = promise;
    this.#push = new Push({
      identity,
      onPeer: () => {
        resolve();
        this.#flush();
      },
      onRoom: () => this.#flush(),
    });
    this.#push.connect(endpoint);
  }

  send(frames: Buffer[]): void {
    this.#unsent.push(frames);
    this.#flush();
  }

  async close(): Promise<void> {
    await this.#push.close();
  }

  #flush(): void {
    for (let frames = this.#unsent[0]; frames !== undefined; frames = this.#unsent[0]) {
      const sent = this.#push.send(frames);
      if (sent === "full" || sent === "gone") return;
      this.#unsent.shift();
    }
  }
}

function resolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((take) => {
    resolve = take;
  });
  return { promise, resolve };
}

function errorOf(
  content: monique.MoniqueContent | undefined,
  frame: Buffer,
  heard: MoniqueData,
): MoniqueError {
  const { code, message } = monique.errorIn(content, frame);
  return new MoniqueError(Number(code), message, heard);
}

/** [monique 5.1] */
function endOf(expiresMs: number | undefined): number {
  return expiresMs === undefined ? 0 : Math.ceil(now().wall + expiresMs);
}

function killedIn(frames: readonly Buffer[]): string | undefined {
  const reading = monique.readMessage(frames);
  const [, frame] = frames;
  if (!reading.ok || reading.content === undefined || frame === undefined) return undefined;
  if (reading.header.type !== "config" || reading.header.spec !== "kill") return undefined;
  const { task_id: id } = monique.readJson(monique.dataIn(reading.content, frame)) ?? {};
  return typeof id === "string" ? id : undefined;
}

function bufferOf(data: Uint8Array | string): Buffer {
  if (typeof data === "string") return Buffer.from(data);
  return Buffer.from(data.buffer, data.byteOffset, data.length);
}
