// The clients that the door knows, by identity: the connected ones, and those that may come back.

import type { WireFrames } from "../wire-frames.js";
import { type ClientHost, ScalerDoorClient } from "./door-client.js";
import type { ScalerHost } from "./line.js";
import type { ObjectExchange, ObjectRequester } from "./object-exchange.js";
import { keyOf } from "./objects.js";

export class DoorClients {
  readonly #exchange: ObjectExchange;
  readonly #host: ClientHost;
  readonly #clients = new Map<string, ScalerDoorClient>();
  /** The client that the previous message named; usually the next one names it too. */
  #namedLast: ScalerDoorClient | undefined;

  constructor(exchange: ObjectExchange, host: ScalerHost) {
    this.#exchange = exchange;
    const push = (requester: ObjectRequester, id: Buffer) => void exchange.push(requester, id);
    this.#host = { ...host, push };
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

  /** The client named by frame `at`, if there is one. */
  named(frames: WireFrames, at: number): ScalerDoorClient | undefined {
    const last = this.#namedLast;
    if (last?.isDead === false && frames.is(at, last.id)) return last;
    this.#namedLast = this.#clients.get(keyOf(frames.slice(at)));
    return this.#namedLast;
  }

  /** Returns the client with this id and creates it if it is new. */
  know(id: Buffer, name: string): ScalerDoorClient {
    return this.#clients.get(keyOf(id)) ?? this.#add(id, name, false);
  }

  /** The same for a client that was known before a restart. */
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

/** Name for a client that is known only from stored objects and tasks. */
function nameOf(id: Buffer): string {
  const text = id.toString("latin1");
  return /^[\x21-\x7e]+$/.test(text) && !text.startsWith("0x") ? text : `0x${id.toString("hex")}`;
}
