// For tests of the pingpong door: a whole yard in memory behind real sockets, workers and clients
// that send what the test says, and a door that the test controls.

import { Dealer, type DealerOptions, Req } from "@yardmaster/zmtp";
import { Tap } from "../door-kit/tap.js";
import type { MakeRouter } from "../door-kit/zmq.js";
import { PingpongDoor } from "../doors/pingpong.js";
import type { DoorConfig } from "../registry/doors.js";
import { DoorYard } from "./door-yard.js";
import { type MemoryRuntimeOptions, until } from "./memory-runtime.js";

export interface PingpongYardOptions extends MemoryRuntimeOptions {
  readonly config?: Partial<DoorConfig<"pingpong">>;
  readonly makeRouter?: MakeRouter;
  readonly tap?: Tap;
}

/** A free port on loopback. */
const anywhere = { host: "127.0.0.1", port: 0 };

export class PingpongYard extends DoorYard {
  readonly door: PingpongDoor;
  readonly #sockets: (Dealer | Req)[] = [];
  addresses = { clients: "", workers: "" };

  /** Faults as they appear in the log. */
  readonly logged: string[] = [];

  constructor({ config, makeRouter, tap = new Tap(), ...options }: PingpongYardOptions = {}) {
    super("pingpong", options);
    this.door = new PingpongDoor({
      port: this.port,
      config: {
        clients: anywhere,
        workers: anywhere,
        workerExpireSeconds: 60,
        form: "document",
        queue: "pingpong",
        ...config,
      },
      payloadBytesMax: options.payloadBytesMax ?? 1_000_000,
      peersMax: 1000,
      log: (kind, _peer, detail) => this.logged.push(`${kind} ${detail}`),
      tap,
      ...(makeRouter && { makeRouter }),
    });
    this.attach(this.door);
  }

  async open(): Promise<this> {
    await this.runtime.start();
    const { pingpong } = await this.runtime.openDoors();
    this.addresses = { clients: pingpong?.clients ?? "", workers: pingpong?.workers ?? "" };
    return this;
  }

  async close(): Promise<void> {
    await Promise.all(this.#sockets.map((socket) => socket.close({ lingerMs: 0 })));
    await this.runtime.stop(0);
  }

  /** A DEALER on the workers' port. */
  worker(identity?: string): Promise<TestPeer> {
    return this.#dealer(this.addresses.workers, identity);
  }

  /** A worker that is known to be idle. */
  async readyWorker(identity: string): Promise<TestPeer> {
    const peer = await this.worker(identity);
    peer.say("", "READY");
    await this.workerIs(identity, "idle");
    return peer;
  }

  /** A DEALER on the clients' port. */
  client(identity?: string): Promise<TestPeer> {
    return this.#dealer(this.addresses.clients, identity);
  }

  /** A REQ on the clients' port, which handles delimiters itself. */
  async req(): Promise<TestPeer> {
    const peer = new TestPeer((handlers) => new Req(handlers));
    return this.#connected(peer, this.addresses.clients);
  }

  #dealer(address: string, identity: string | undefined): Promise<TestPeer> {
    const peer = new TestPeer((handlers) => new Dealer({ ...handlers, ...(identity && { identity }) }));
    return this.#connected(peer, address);
  }

  async #connected(peer: TestPeer, address: string): Promise<TestPeer> {
    this.#sockets.push(peer.socket);
    peer.socket.connect(`tcp://${address}`);
    await peer.joined;
    return peer;
  }
}

/** A worker or a client that sends and receives frames of text. */
export class TestPeer {
  readonly socket: Dealer | Req;
  readonly joined: Promise<void>;
  readonly gone: Promise<string>;
  readonly heard: string[][] = [];

  constructor(make: (handlers: DealerOptions) => Dealer | Req) {
    let join = () => {};
    let leave: (reason: string) => void = () => {};
    this.joined = new Promise((resolve) => {
      join = resolve;
    });
    this.gone = new Promise((resolve) => {
      leave = resolve;
    });
    this.socket = make({
      onPeer: () => join(),
      onPeerGone: (_peer, reason) => leave(reason),
      onMessage: (_peer, frames) => this.heard.push(frames.map(String)),
    });
  }

  say(...frames: (string | Buffer)[]): void {
    this.socket.send(frames.map((frame) => Buffer.from(frame as string)));
  }

  /** The next message, received already or in the future. */
  next(): Promise<string[]> {
    return until(() => this.heard.shift());
  }

  /** Closes the connection and does not reconnect. */
  close(): Promise<void> {
    return this.socket.close({ lingerMs: 0 });
  }
}
