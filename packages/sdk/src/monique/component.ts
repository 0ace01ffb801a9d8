// A monique component: asks and answers questions, publishes and receives data, sends monitoring
// reports, and kills questions.

import { randomBytes } from "node:crypto";
import { monique } from "@yardmaster/dialects";
import { type ConnectSecurity, Push, Sub } from "@yardmaster/zmtp";
import { ArgumentError } from "../errors.js";
import { now } from "../time.js";
import {
  type AskOptions,
  type MoniqueComponentOptions,
  type MoniqueData,
  MoniqueError,
  type MonitoringOptions,
  type PublishOptions,
} from "./component-options.js";
import { type MoniqueQuestion, MoniqueWorker, type MoniqueWorkerOptions, timesIn } from "./worker.js";

interface Waiter {
  resolve(answer: MoniqueData): void;
  reject(error: Error): void;
}

const settleMs = 50;
const monitoringMs = 5_000;
const idBytes = 30;
const identityBytes = 16;

/** A monique component: it asks, publishes and answers. */
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
    // [monique 2.8] Both connections use this name, so the dispatcher knows that they belong
    // together and need not wait.
    const identity = randomBytes(identityBytes).toString("hex");
    const { security, onError } = options;
    const shown = security && { security, onConnectFailed: (_to: string, error: Error) => onError?.(error) };
    this.#com = new Outlet(to, identity, shown);
    this.#tech = techIn === undefined ? undefined : new Outlet(techIn, identity, shown);
    const heard = resolvers();
    this.#sub = new Sub({
      identity,
      ...shown,
      onPeer: () => heard.resolve(),
      onMessage: (_peer, frames) => this.#hear(frames),
    });
    this.#sub.connect(out);
    this.#techSub = techOut === undefined ? undefined : this.#connectTech(techOut);
    this.#connected = Promise.all([heard.promise, this.#com.connected]);
  }

  /**
   * Resolves with the answer. Rejects with a `MoniqueError`, or with an `AbortError` if the signal
   * fires.
   */
  async ask(spec: string, data: Uint8Array | string, options: AskOptions = {}): Promise<MoniqueData> {
    const { signal, encoding = "JSON", pid = "", expiresMs } = options;
    signal?.throwIfAborted();
    // [monique 2.8] An answer that is published before the subscription is in place would be
    // missed.
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

  #question(said: monique.ComponentMessage, { signal, onAsked }: AskOptions): Promise<MoniqueData> {
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

  /** Returns the message's id, to which other messages can refer. */
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

  /** Receives free data of a spec. Resolves when the subscription is in place. */
  async subscribe(spec: string, take: (data: MoniqueData) => void): Promise<void> {
    const hearers = this.#hearers.get(spec) ?? new Set();
    this.#hearers.set(spec, hearers.add(take));
    await this.#subscribe([monique.prefixOf(this.#form, "data", spec)]);
  }

  /**
   * Answers the questions of a spec: those that a controller sends it or, without a controller, all
   * that are published.
   */
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
      ...(this.#options.security && { security: this.#options.security }),
      send: (message) => this.#com.send(this.#write(message)),
    });
    this.#workers.add(worker);
    if (controller === undefined) await this.#subscribe([monique.prefixOf(this.#form, "config", spec)]);
    await Promise.all([this.#connected, worker.connected]);
    return worker;
  }

  /** Sends a monitoring report at once and at intervals, until the returned function is called. */
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

  /** Asks the workers to give up a question, whichever client asked it. */
  kill(id: string): void {
    this.#needTech().send(this.#write(this.#session.kill(id, now())));
  }

  /** Lets running work finish, then closes. */
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

  /** Passes a question to the workers that subscribe to questions. */
  #offer(question: MoniqueQuestion): void {
    for (const worker of this.#workers)
      if (!worker.isGiven && worker.spec === question.spec) worker.take(question);
  }

  #connectTech(endpoint: string): Sub {
    const { security } = this.#options;
    const sub = new Sub({
      ...(security && { security }),
      onMessage: (_peer, frames) => {
        const id = killedIn(frames);
        if (id !== undefined) for (const worker of this.#workers) worker.kill(id);
      },
    });
    // Subscribes to all forms, because kills are few.
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

interface ShownCredentials {
  readonly security: ConnectSecurity;
  readonly onConnectFailed: (endpoint: string, error: Error) => void;
}

/** A PUSH that queues messages until it is connected. */
class Outlet {
  readonly connected: Promise<void>;
  readonly #push: Push;
  readonly #unsent: Buffer[][] = [];

  constructor(endpoint: string, identity: string, shown: ShownCredentials | undefined) {
    const { promise, resolve } = resolvers();
    this.connected = promise;
    this.#push = new Push({
      identity,
      ...shown,
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
