// The clients that the door knows, by their identity: those that are connected, and those that may come back.

import { type ClientHost, ScalerDoorClient } from "./door-client.js";
import type { ScalerHost } from "./line.js";
import type { Asker, ObjectExchange } from "./object-exchange.js";
import { keyOf } from "./objects.js";
import type { PackedFrames } from "./packed-frames.js";

export class DoorClients {
  readonly #exchange: ObjectExchange;
  readonly #host: ClientHost;
  readonly #clients = new Map<string, ScalerDoorClient>();
  /** The client that a message named last: mostly it is the same. */
  #namedLast: ScalerDoorClient | undefined;

  constructor(exchange: ObjectExchange, { post, now, fault }: ScalerHost) {
    this.#exchange = exchange;
    const push = (asker: Asker, id: Buffer) => void exchange.push(asker, id);
    this.#host = { post, now, fault, push };
  }

  keys(): string[] {
    return [...this.#clients.keys()];
  }

  has(id: Buffer): boolean {
    return this.#clients.has(keyOf(id));
  }

  get(key: string): ScalerDoorClient | undefined {
    return this.#clients.get(key);
  }

  /** The client that frame `at` names, if there is one. */
  named(frames: PackedFrames, at: number): ScalerDoorClient | undefined {
    const last = this.#namedLast;
    if (last?.isDead === false && frames.is(at, last.id)) return last;
    this.#namedLast = this.#clients.get(frames.bytes.toString("latin1", frames.starts[at], frames.ends[at]));
    return this.#namedLast;
  }

  /** The client of this id, which is known from here on. */
  know(id: Buffer, name: string): ScalerDoorClient {
    return this.#clients.get(keyOf(id)) ?? this.#add(id, name, false);
  }

  /** The same of one that an earlier life knew. */
  restored(id: Buffer): ScalerDoorClient {
    return this.#clients.get(keyOf(id)) ?? this.#add(id, nameOf(id), true);
  }

  delete(client: ScalerDoorClient): void {
    this.#clients.delete(client.key);
    this.#exchange.serializers.delete(client.id);
  }

  #add(id: Buffer, name: string, isRestored: boolean): ScalerDoorClient {
    const client = new ScalerDoorClient(keyOf(id), Buffer.from(id), name, this.#host, isRestored);
    this.#clients.set(client.key, client);
    this.#exchange.serializers.add(client.id);
    return client;
  }
}

/** Of a client that is only known by what it left. */
function nameOf(id: Buffer): string {
  const text = id.toString("latin1");
  return /^[\x21-\x7e]+$/.test(text) && !text.startsWith("0x") ? text : `0x${id.toString("hex")}`;
}
