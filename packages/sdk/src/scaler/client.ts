// A scaler client: tasks that name their functions, each with a future; graphs of tasks; and
// objects that tasks share.

import { randomBytes } from "node:crypto";
import { scaler } from "@yardmaster/dialects";
import type { ConnectSecurity } from "@yardmaster/zmtp";
import { now, SessionTimer } from "../time.js";
import { failureOf, ScalerError, ScalerFuture } from "./future.js";
import { newIdentity, ProcessUsage, ScalerLink } from "./link.js";
import { bufferOf, jsonSerializer, type ScalerSerializer } from "./serializers.js";

/** Options of a scaler client. */
export interface ScalerClientOptions extends Partial<scaler.HeartbeatPaceSettings> {
  /** tcp://host:port */
  readonly scheduler: string;
  /** Part of its identity. Default "Client". */
  readonly name?: string;
  /** Its whole identity, which must be unique: 1 to 255 bytes. */
  readonly identity?: string;
  /** Credentials, if the scheduler wants any. */
  readonly security?: ConnectSecurity;
  /** Serialises arguments and results. Default JSON. Workers are told its name. */
  readonly serializer?: ScalerSerializer;
  /** Sends functions as bare names, so that workers use their own default serialiser. */
  readonly plainNames?: boolean;
  /** Maximum size of an object to send; the scheduler has its own limit. Default 256 MiB. */
  readonly objectBytesMax?: number;
}

/** Options of one scaler task. */
export interface ScalerTaskOptions {
  /** Lower is more urgent. Default 0. */
  readonly priority?: number;
}

/** Options of one call of a function. */
export interface ScalerCallOptions extends ScalerTaskOptions {
  /** The scheduler's id of the task: 1 to 255 bytes, unique. Made up if absent. */
  readonly id?: string;
}

/** A value that the scheduler keeps for any number of tasks until it is released. */
export class ScalerObject {
  readonly #id: Buffer;

  /** @internal Made by the client. */
  constructor(id: Buffer) {
    this.#id = id;
  }

  /** In hex. */
  get id(): string {
    return this.#id.toString("hex");
  }
}

/** As an argument of a node: the result of another node. */
export class NodeResult {
  readonly node: string;

  constructor(node: string) {
    this.node = node;
  }
}

/** Stands for the result of another node of the same graph. */
export function resultOf(node: string): NodeResult {
  return new NodeResult(node);
}

/** One task of a graph. */
export interface ScalerNode extends ScalerTaskOptions {
  readonly call: string;
  readonly args?: readonly unknown[];
}

/** Tasks that use the results of each other. */
export interface ScalerGraph<Target extends string> {
  readonly futures: Readonly<Record<Target, ScalerFuture<unknown>>>;
  /** The graph as a whole: done when every target is done. */
  readonly done: ScalerFuture<void>;
}

const defaultObjectBytesMax = 256 * 1024 * 1024;

/** A client of a scaler scheduler, with objects and graphs. */
export class ScalerClient {
  readonly identity: string;
  readonly #serializer: ScalerSerializer;
  readonly #hasPlainNames: boolean;
  readonly #objectBytesMax: number;
  /** Objects that were put and not released. */
  readonly #objects = new Set<ScalerObject>();
  readonly #usage = new ProcessUsage();
  readonly #timer = new SessionTimer(() => this.#turn(() => this.#session.handleTimeout(now())));
  readonly #session: scaler.ScalerClientSession;
  readonly #link: ScalerLink;
  #isClosed = false;

  constructor(options: ScalerClientOptions) {
    const { scheduler, name, identity, security, serializer, plainNames, objectBytesMax, ...chosen } =
      options;
    const bytes = identity === undefined ? newIdentity(name ?? "Client") : Buffer.from(identity);
    this.identity = bytes.toString();
    this.#serializer = serializer ?? jsonSerializer;
    this.#hasPlainNames = plainNames ?? false;
    this.#objectBytesMax = objectBytesMax ?? defaultObjectBytesMax;
    const settings = { ...scaler.defaultScalerClientSettings, ...chosen };
    this.#session = new scaler.ScalerClientSession(bytes, Buffer.from(this.#serializer.name), settings, {
      send: (message) => this.#link.send(scaler.writeFromClient(message)),
      reconnect: () => this.#link.reconnect(),
      resources: () => this.#usage.take(),
    });
    this.#link = new ScalerLink(
      scheduler,
      bytes,
      {
        connected: () => this.#turn(() => this.#session.connected(now())),
        disconnected: () => this.#turn(() => this.#session.disconnected()),
        receive: (frames) => {
          const reading = scaler.readAtClient(frames);
          if (reading.ok) this.#turn(() => this.#session.receive(reading.message, now()));
        },
      },
      security,
    );
  }

  /** Submits one task. Arguments may be `ScalerObject`s. */
  submit<Value = unknown>(name: string, ...args: readonly unknown[]): ScalerFuture<Value> {
    return this.call<Value>(name, args);
  }

  call<Value = unknown>(
    name: string,
    args: readonly unknown[],
    { id, ...options }: ScalerCallOptions = {},
  ): ScalerFuture<Value> {
    const task = id === undefined ? randomBytes(16) : Buffer.from(id);
    return this.#future<Value>(task, (waiter) => {
      const request = this.#holding((holding) =>
        this.#request(task, { call: name, args, ...options }, holding, noNode),
      );
      this.#session.submit(request, waiter);
    });
  }

  /**
   * Submits one task per item and returns the results in order. If one fails, the remaining tasks
   * are cancelled.
   */
  async map<Value = unknown>(
    name: string,
    items: Iterable<unknown>,
    options: ScalerTaskOptions = {},
  ): Promise<Value[]> {
    const futures = Array.from(items, (item) => this.call<Value>(name, [item], options));
    try {
      return await Promise.all(futures);
    } catch (error) {
      for (const future of futures) future.cancel();
      throw error;
    }
  }

  /** Submits nodes by name and returns the futures of the targets. */
  graph<Target extends string>(
    nodes: Readonly<Record<string, ScalerNode>>,
    targets: readonly Target[],
  ): ScalerGraph<Target> {
    const ids = new Map(Object.keys(nodes).map((name) => [name, randomBytes(16)]));
    const idOf = (name: string) => {
      const id = ids.get(name);
      if (id === undefined) throw new TypeError(`The graph has no node ${JSON.stringify(name)}.`);
      return id;
    };
    const wanted = targets.map((name) => [name, idOf(name)] as const);
    const requests = this.#holding((holding) =>
      Object.entries(nodes).map(([name, node]) => this.#request(idOf(name), node, holding, idOf)),
    );
    const waiting: [Buffer, scaler.ScalerWaiter][] = [];
    const futures = wanted.map(
      ([name, id]) => [name, this.#future(id, (waiter) => waiting.push([id, waiter]))] as const,
    );
    const graph = randomBytes(16);
    const ask = (waiter: scaler.ScalerWaiter) =>
      this.#session.submitGraph({ graph, nodes: requests, targets: waiting }, waiter);
    const done = this.#future<void>(graph, ask, () => undefined);
    return { futures: Object.fromEntries(futures) as ScalerGraph<Target>["futures"], done };
  }

  /** The results of a graph's targets. */
  async get<Target extends string>(
    nodes: Readonly<Record<string, ScalerNode>>,
    targets: readonly Target[],
  ): Promise<Record<Target, unknown>> {
    const { futures, done } = this.graph(nodes, targets);
    const values = await Promise.all(targets.map(async (name) => [name, await futures[name]] as const));
    await done;
    return Object.fromEntries(values) as Record<Target, unknown>;
  }

  /** Sends a value once, for use by many tasks. */
  put(value: unknown): ScalerObject {
    const id = this.#holding((holding) => holding.bytes("<obj>", this.#serializer.write(value)));
    const object = new ScalerObject(id);
    this.#objects.add(object);
    return object;
  }

  /** No later task needs the object. Tasks that already use it keep it. */
  release(object: ScalerObject): void {
    if (!this.#objects.delete(object)) return;
    this.#turn(() => this.#session.objects.release(Buffer.from(object.id, "hex"), now()));
  }

  /**
   * Asks the scheduler to shut everything down. Resolves with false if the scheduler is protected.
   */
  shutDown(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((resolve) => this.#turn(() => this.#session.shutDown(resolve)));
  }

  /** Cancels its tasks and deletes its objects. Pending futures reject with `closed`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.stop();
    for (const waiter of this.#session.leave()) (waiter as ClosableWaiter).closed();
    await this.#link.close();
  }

  #future<Value>(
    task: Buffer,
    ask: (waiter: scaler.ScalerWaiter) => void,
    read: (result: Buffer) => unknown = (result) => this.#serializer.read(result),
  ): ScalerFuture<Value> {
    const cancel = () => this.#turn(() => this.#session.cancel(task, now()));
    return new ScalerFuture<Value>(task, cancel, (resolve, reject) => {
      const waiter: ClosableWaiter = {
        done: (result) => {
          try {
            resolve(read(result) as Value);
          } catch (error) {
            reject(new ScalerError("bad_result", `The result cannot be read: ${String(error)}`, result));
          }
        },
        failed: (reason, object) => reject(failureOf(reason, object)),
        closed: () => reject(new ScalerError("closed", "The client was closed before the task was over.")),
      };
      if (this.#isClosed) waiter.closed();
      else this.#turn(() => ask(waiter));
    });
  }

  #request(
    task: Buffer,
    { call, args = [], priority = 0 }: ScalerNode,
    holding: Holding,
    idOf: (node: string) => Buffer,
  ): scaler.ScalerTaskRequest {
    const given = args.map((arg): scaler.Argument => {
      if (arg instanceof NodeResult) return { kind: "T", id: idOf(arg.node) };
      if (arg instanceof ScalerObject) return { kind: "R", id: holding.again(arg) };
      return { kind: "R", id: holding.bytes("<obj>", this.#serializer.write(arg)) };
    });
    const serializer = this.#hasPlainNames ? {} : { serializer: this.#serializer.name };
    const called = holding.bytes(call, scaler.writeFunctionObject({ name: call, ...serializer }));
    return { task, function: called, arguments: given, priority };
  }

  /** Releases the objects held so far if one of them cannot be held. */
  #holding<Made>(make: (holding: Holding) => Made): Made {
    const held: Buffer[] = [];
    const kept = (id: Buffer) => {
      held.push(id);
      return id;
    };
    try {
      return make({
        bytes: (name, content) => kept(this.#hold(name, bufferOf(content))),
        again: (object) => kept(this.#holdAgain(object)),
      });
    } catch (error) {
      for (const id of held) this.#session.objects.release(id, now());
      throw error;
    }
  }

  #hold(name: string, bytes: Buffer): Buffer {
    const max = this.#objectBytesMax;
    if (bytes.length <= max) return this.#session.objects.hold(name, bytes);
    throw new ScalerError("too_large", `${name} has ${bytes.length} bytes, and at most ${max} are sent.`);
  }

  #holdAgain(object: ScalerObject): Buffer {
    if (!this.#objects.has(object)) throw new TypeError("The object was released, or is another client's.");
    const id = Buffer.from(object.id, "hex");
    this.#session.objects.holdAgain(id);
    return id;
  }

  #turn(act: () => void): void {
    act();
    if (!this.#isClosed) this.#timer.wakeAt(this.#session.nextDeadline());
  }
}

/** Holds objects for a task: a value's bytes under a name, or an object that was put before. */
interface Holding {
  bytes(name: string, content: Uint8Array): Buffer;
  again(object: ScalerObject): Buffer;
}

interface ClosableWaiter extends scaler.ScalerWaiter {
  closed(): void;
}

function noNode(node: string): Buffer {
  throw new TypeError(`resultOf(${JSON.stringify(node)}) is for the nodes of a graph.`);
}
