// A scaler worker: give it a scheduler's address and named functions, and it works until it is
// stopped. It runs only these functions. Code in objects, such as the original program's pickles,
// is never loaded.

import { randomBytes } from "node:crypto";
import { scaler } from "@yardmaster/dialects";
import type { ConnectSecurity } from "@yardmaster/zmtp";
import { messageOf } from "../failure.js";
import { now, SessionTimer } from "../time.js";
import { newIdentity, ProcessUsage, ScalerLink } from "./link.js";
import { bufferOf, builtInSerializers, jsonSerializer, type ScalerSerializer } from "./serializers.js";

/** What a function is told about its task. */
export interface ScalerTaskContext {
  /** Fires when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  /** The task's id, in hex. */
  readonly task: string;
  /** The client that submitted the task. */
  readonly source: string;
  /** Lower is more urgent. A task for which this one waits must be more urgent. */
  readonly priority: number;
}

/** An exception fails the task with its message. */
export type ScalerFunction = (args: readonly unknown[], context: ScalerTaskContext) => unknown;

/** A function with a serializer of its own. */
export interface ScalerFunctionWithSerializer {
  readonly run: ScalerFunction;
  readonly serializer: ScalerSerializer;
}

/** Options of a scaler worker. */
export interface ScalerWorkerOptions extends Partial<scaler.ScalerWorkerSettings> {
  /** tcp://host:port */
  readonly scheduler: string;
  readonly functions: Readonly<Record<string, ScalerFunction | ScalerFunctionWithSerializer>>;
  /** Part of its identity. Default "worker". */
  readonly name?: string;
  /** Its whole identity, which must be unique: 1 to 255 bytes. */
  readonly identity?: string;
  /** Credentials, if the scheduler wants any. */
  readonly security?: ConnectSecurity;
  /** Used for arguments and results if the function object names none. Default JSON. */
  readonly serializer?: ScalerSerializer;
  /** In addition to JSON, MessagePack and bytes, for function objects that name them. */
  readonly serializers?: readonly ScalerSerializer[];
  /** Called with true when a scheduler is there, and with false when the connection is lost. */
  readonly onContact?: (isThere: boolean) => void;
  /** Called with what a function throws. */
  readonly onError?: (error: unknown) => void;
}

/** A worker of a scaler scheduler. */
export class ScalerWorker {
  readonly identity: string;
  /** Resolves when it has left: it was stopped, or the scheduler shut it down. */
  readonly closed: Promise<void>;
  readonly #options: ScalerWorkerOptions;
  readonly #functions: ReadonlyMap<string, ScalerFunctionWithSerializer>;
  readonly #serializers: ReadonlyMap<string, ScalerSerializer>;
  readonly #usage = new ProcessUsage();
  readonly #timer = new SessionTimer(() => this.#turn(() => this.#session.handleTimeout(now())));
  readonly #aborts = new Map<number, AbortController>();
  readonly #session: scaler.ScalerWorkerSession;
  readonly #link: ScalerLink;
  #isOver = false;

  constructor(options: ScalerWorkerOptions) {
    const { scheduler, functions, name, identity, security, serializer, serializers, ...others } = options;
    const { onContact, onError, ...chosen } = others;
    const settings = { ...scaler.defaultScalerWorkerSettings, ...chosen };
    const own = serializer ?? jsonSerializer;
    const known = [...builtInSerializers, ...(serializers ?? []), own];
    const bytes = identity === undefined ? newIdentity(name ?? "worker") : Buffer.from(identity);
    this.#options = options;
    this.identity = bytes.toString();
    this.#serializers = new Map(known.map((one) => [one.name, one]));
    this.#functions = new Map(
      Object.entries(functions).map(([called, given]) => [
        called,
        typeof given === "function" ? { run: given, serializer: own } : given,
      ]),
    );
    const { promise, resolve } = ending();
    this.closed = promise;
    this.#session = new scaler.ScalerWorkerSession(bytes, settings, {
      send: (message) => this.#link.send(scaler.writeFromWorker(message, settings.wire)),
      run: (call) => void this.#run(call),
      abort: (run) => this.#aborts.get(run)?.abort(),
      reconnect: () => this.#link.reconnect(),
      ended: () => void this.#close().then(resolve),
      resources: () => this.#usage.take(),
      unique: () => randomBytes(16),
    });
    this.#link = new ScalerLink(
      scheduler,
      bytes,
      {
        connected: () => {
          this.#turn(() => this.#session.connected(now()));
          onContact?.(true);
        },
        disconnected: () => {
          this.#turn(() => this.#session.disconnected(now()));
          onContact?.(false);
        },
        receive: (frames) => {
          const reading = scaler.readAtWorker(frames, settings.wire);
          if (reading.ok) this.#turn(() => this.#session.receive(reading.message, now()));
        },
        failed: (error) => onError?.(error),
      },
      security,
    );
  }

  /**
   * Lets running tasks finish, then says goodbye. Tasks that have not begun go to other workers.
   */
  async stop(): Promise<void> {
    this.#turn(() => this.#session.leave(now()));
    await this.closed;
  }

  async #run(call: scaler.ScalerCall): Promise<void> {
    const abort = new AbortController();
    this.#aborts.set(call.run, abort);
    try {
      const result = await this.#call(call, abort.signal);
      this.#turn(() => this.#session.finish(call.run, result, now()));
    } catch (error) {
      this.#turn(() => this.#session.fail(call.run, messageOf(error), now()));
      this.#options.onError?.(error);
    } finally {
      this.#aborts.delete(call.run);
    }
  }

  async #call(call: scaler.ScalerCall, signal: AbortSignal): Promise<Buffer> {
    const { run, serializer } = this.#find(call.function);
    const args = call.arguments.map((bytes) => serializer.read(bytes));
    const { task, source, priority } = call;
    const context = { signal, task: task.toString("hex"), source: source.toString(), priority };
    return bufferOf(serializer.write(await run(args, context)));
  }

  /** [scaler 10.1] */
  #find(bytes: Buffer): ScalerFunctionWithSerializer {
    const named = scaler.readFunctionObject(bytes);
    if (named === undefined) {
      throw new TypeError("This worker runs functions by their names, and the function object holds none.");
    }
    const found = this.#functions.get(named.name);
    if (found === undefined)
      throw new TypeError(`This worker has no function ${JSON.stringify(named.name)}.`);
    if (named.serializer === undefined) return found;
    const serializer = this.#serializers.get(named.serializer);
    if (serializer === undefined) {
      throw new TypeError(`This worker has no serializer ${JSON.stringify(named.serializer)}.`);
    }
    return { run: found.run, serializer };
  }

  async #close(): Promise<void> {
    this.#isOver = true;
    this.#timer.stop();
    await this.#link.close();
  }

  #turn(act: () => void): void {
    act();
    if (!this.#isOver) this.#timer.wakeAt(this.#session.nextDeadline());
  }
}

function ending(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
