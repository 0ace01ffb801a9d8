// For tests of the monique door: a whole yard in memory behind real sockets, components that push,
// subscribe and pull, and a door that the test controls.

import { monique } from "@yardmaster/dialects";
import { Pull, Push, Sub } from "@yardmaster/zmtp";
import { Tap } from "../door-kit/tap.js";
import { MoniqueDoor } from "../doors/monique.js";
import type { MoniqueSockets } from "../monique/sockets.js";
import type { DoorConfig } from "../registry/doors.js";
import { DoorYard } from "./door-yard.js";
import { type MemoryRuntimeOptions, until } from "./memory-runtime.js";

export interface MoniqueYardOptions extends MemoryRuntimeOptions {
  readonly config?: Partial<DoorConfig<"monique">>;
  readonly queueNames?: readonly string[];
  readonly sockets?: MoniqueSockets;
  readonly tap?: Tap;
  /** Default 0, because a test knows that its subscriptions are in place. */
  readonly settleMs?: number;
}

/** A free port on loopback. */
const anywhere = { host: "127.0.0.1", port: 0 };

export type OutgoingMessage = Partial<Omit<monique.MoniqueMessage, "data">> & {
  readonly data?: string | Buffer;
  readonly form?: monique.MoniqueForm;
};

/** A message as tests compare it. */
export type ReceivedMessage = Omit<monique.MoniqueMessage, "data"> & {
  readonly data: string;
  readonly form: monique.MoniqueForm;
  readonly frames: readonly Buffer[];
};

export class MoniqueYard extends DoorYard {
  readonly door: MoniqueDoor;
  readonly #sockets: (Push | Pull | Sub)[] = [];
  readonly logged: string[] = [];
  readonly config: DoorConfig<"monique">;
  addresses: Readonly<Record<string, string>> = {};
  #lastNumber = 0;

  constructor(given: MoniqueYardOptions = {}) {
    const { config, queueNames = [], sockets, tap = new Tap(), settleMs = 0, ...options } = given;
    super("monique", options);
    this.config = {
      ...{ in: anywhere, out: anywhere, techIn: anywhere, techOut: anywhere, form: "d3" },
      ...{ allowMessages: [], specs: {}, controllers: {}, prefetch: 1 },
      ...config,
    };
    this.door = new MoniqueDoor({
      port: this.port,
      config: this.config,
      queues: queueNames,
      payloadBytesMax: options.payloadBytesMax ?? 1_000_000,
      peersMax: 1000,
      log: (kind, peer, detail) => this.logged.push(`${kind} ${peer} ${detail}`),
      tap,
      settleMs,
      ...(sockets && { sockets }),
    });
    this.attach(this.door);
  }

  async open(): Promise<this> {
    await this.runtime.start();
    const { monique: addresses } = await this.runtime.openDoors();
    this.addresses = addresses ?? {};
    return this;
  }

  async close(): Promise<void> {
    await Promise.all(this.#sockets.map((socket) => socket.close({ lingerMs: 0 })));
    await this.runtime.stop(0);
  }

  /** Resolves when the fault was counted this many times. */
  faulted(kind: string, times = 1): Promise<true> {
    return until(() => this.door.faults.count(kind) >= times || undefined);
  }

  /** A PUSH to `in`, or to another address of the door. */
  async pusher(creator = "asker", to = "in", identity = ""): Promise<Pusher> {
    const joined = resolvers();
    const push = new Push({ identity, onPeer: () => joined.resolve(undefined) });
    this.#sockets.push(push);
    push.connect(`tcp://${this.addresses[to]}`);
    await joined.promise;
    return new Pusher(push, creator, () => {
      this.#lastNumber += 1;
      return this.#lastNumber;
    });
  }

  /** A SUB that subscribes as soon as it is connected, whenever that is. */
  lateListener(prefix = "", identity = ""): Listener {
    const listener = new Listener((onMessage) => new Sub({ identity, onMessage }));
    const { socket } = listener;
    this.#sockets.push(socket);
    (socket as Sub).subscribe(prefix);
    socket.connect(`tcp://${this.addresses.out}`);
    return listener;
  }

  /** A SUB whose subscription is known to be in place. */
  async listener(prefix = "", to = "out"): Promise<Listener> {
    const listener = new Listener((onMessage) => new Sub({ onMessage }));
    const { socket } = listener;
    this.#sockets.push(socket);
    (socket as Sub).subscribe(prefix);
    socket.connect(`tcp://${this.addresses[to]}`);
    // When a message that matches the subscription arrives, the PUB has the subscription.
    const probe = "data:error:probe:";
    (socket as Sub).subscribe(probe);
    const pusher = await this.pusher("probe", to === "out" ? "in" : "techIn");
    await until(async () => {
      pusher.say({ type: "data", spec: "error", id: "probe" });
      await new Promise((resolve) => setTimeout(resolve, 5));
      return listener.wasProbed || undefined;
    });
    await pusher.push.close();
    (socket as Sub).unsubscribe(probe);
    return listener;
  }

  /** A worker: a PULL on a controller's port. */
  async worker(spec: string): Promise<Listener> {
    const before = await this.#living(spec);
    const joined = resolvers();
    const listener = new Listener(
      (onMessage) => new Pull({ onMessage, onPeer: () => joined.resolve(undefined) }),
    );
    this.#sockets.push(listener.socket);
    listener.socket.connect(`tcp://${this.addresses[`controllers.${spec}`]}`);
    await joined.promise;
    // The core knows the worker.
    await until(async () => (await this.#living(spec)) > before || undefined);
    return listener;
  }

  async #living(spec: string): Promise<number> {
    const workers = await this.port.reads.workers();
    return workers.filter(({ queues, state }) => queues.includes(spec) && state !== "lost").length;
  }
}

function resolvers(): { promise: Promise<unknown>; resolve: (value: unknown) => void } {
  let resolve: (value: unknown) => void = () => {};
  const promise = new Promise((take) => {
    resolve = take;
  });
  return { promise, resolve };
}

export class Pusher {
  readonly push: Push;
  readonly #creator: string;
  readonly #nextNumber: () => number;

  constructor(push: Push, creator: string, nextNumber: () => number) {
    this.push = push;
    this.#creator = creator;
    this.#nextNumber = nextNumber;
  }

  /** Pushes a message and returns its id and frames. */
  say({ form = "d3", data = "{}", ...fields }: OutgoingMessage = {}): { id: string; frames: Buffer[] } {
    const number = this.#nextNumber();
    const createdAt = 1_700_000_000_000 + number;
    const about = { creator: this.#creator, createdAt, spec: "test_echo", ...fields };
    const id = fields.id ?? (form === "d3" ? `id${number}` : monique.hashId(about));
    const message = { type: "config", pid: "", expiresAt: 0, encoding: "JSON", ...about, id } as const;
    const frames = monique.writeMessage({ ...message, data: Buffer.from(data as string) }, form);
    this.push.send(frames);
    return { id, frames };
  }

  answer(
    question: ReceivedMessage,
    data: string,
    fields: OutgoingMessage = {},
  ): { id: string; frames: Buffer[] } {
    return this.say({ type: "result", spec: question.spec, pid: question.id, data, ...fields });
  }

  raw(...frames: (string | Buffer)[]): void {
    this.push.send(frames.map((frame) => Buffer.from(frame as string)));
  }
}

export class Listener {
  readonly socket: Sub | Pull;
  readonly heard: ReceivedMessage[] = [];
  /** Internal: shows that a subscription is in place. */
  wasProbed = false;

  constructor(make: (onMessage: (peer: unknown, frames: Buffer[]) => void) => Sub | Pull) {
    this.socket = make((_peer, frames) => {
      const message = heardIn(frames);
      if (message.id === "probe") this.wasProbed = true;
      else this.heard.push(message);
    });
  }

  /** The next message, received already or in the future. */
  next(): Promise<ReceivedMessage> {
    return until(() => this.heard.shift());
  }

  close(): Promise<void> {
    return this.socket.close({ lingerMs: 0 });
  }
}

export function heardIn(frames: readonly Buffer[]): ReceivedMessage {
  const reading = monique.readMessage(frames);
  if (!reading.ok) throw new Error(`cannot be read: ${reading.fault}`);
  const { content } = reading;
  const header = monique.plainHeader(reading.header);
  const [, frame = Buffer.alloc(0)] = frames;
  if (content === undefined) {
    return {
      ...header,
      createdAt: 0,
      expiresAt: 0,
      encoding: "",
      data: frame.toString(),
      form: "d3",
      frames,
    };
  }
  const { form, createdAt, expiresAt, encoding, dataStart, dataEnd } = content;
  const data = frame.subarray(dataStart, dataEnd).toString();
  return { ...header, createdAt, expiresAt, encoding, data, form, frames };
}
