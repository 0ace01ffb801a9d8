// The dispatcher's end of simulated http connections: Node's http server reads and writes them like
// sockets. Bytes travel in pieces of any size, and a peer that does not read holds the writer up.

import { Duplex } from "node:stream";
import type { ListenHttp } from "@yardmaster/server";
import type { GoneReason } from "@yardmaster/zmtp";
import type { Item } from "./pipe.js";
import type { Random } from "./random.js";
import type { Line, Listener, Streams } from "./streams.js";
import type { Process, World } from "./world.js";

/** The name of the port in the simulated network. */
export const httpEndpoint = "http";

interface Surroundings {
  readonly world: World;
  readonly random: Random;
  readonly streams: Streams;
}

/** Opens the http server of this process to simulated connections. */
export function listenIn(surroundings: Surroundings, process: Process): ListenHttp {
  return async (app, address) => {
    await app.ready();
    const sockets = new Map<Line, SimulatedSocket>();
    const listener: Listener = {
      process,
      take(line, item) {
        if (item.type !== "came") return sockets.get(line)?.receive(item);
        const socket = new SimulatedSocket(surroundings, process, line);
        sockets.set(line, socket);
        surroundings.world.whenOver(() => socket.destroy());
        socket.once("close", () => sockets.delete(line));
        app.server.emit("connection", socket);
      },
    };
    surroundings.streams.listen(httpEndpoint, listener);
    return address;
  };
}

class SimulatedSocket extends Duplex {
  /** What Node's http server and the door use of a TCP socket. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly encrypted = false;
  timeout = 0;
  readonly #surroundings: Surroundings;
  readonly #process: Process;
  readonly #line: Line;
  #written: ((fault?: Error) => void) | undefined;
  /** The peer has closed both directions: what is written from now on is answered with a reset. */
  #isClosedByPeer = false;
  #cancelTimeout: (() => void) | undefined;

  constructor(surroundings: Surroundings, process: Process, line: Line) {
    super({ allowHalfOpen: true });
    this.#surroundings = surroundings;
    this.#process = process;
    this.#line = line;
    this.remoteAddress = `10.0.0.${line.peer.name.length}`;
    this.remotePort = line.id;
    line.onRead = () => this.#goOn();
    // A reset connection is nothing unusual: the server sees its close.
    this.on("error", () => {});
  }

  receive(item: Item<GoneReason>): void {
    this.#touch();
    if (item.type === "message") {
      if (!this.push(item.frames[0])) this.#line.toRouter.hold();
    } else if (item.type === "gone") {
      if (item.reason !== "closed") this.destroy(reset(item.reason));
      else {
        this.#isClosedByPeer = true;
        this.push(null);
        this.#written?.(reset("closed"));
      }
    }
  }

  override _read(): void {
    this.#line.toRouter.release();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (fault?: Error) => void): void {
    this.#touch();
    if (this.#isClosedByPeer) return written(reset("closed"));
    if (!this.#process.isDead) for (const piece of this.#piecesOf(chunk)) this.#put(piece);
    this.#written = written;
    if (this.#hasRoom) this.#goOn();
  }

  override _final(done: () => void): void {
    if (!this.#process.isDead) this.#line.toPeer.end("closed");
    done();
  }

  override _destroy(fault: Error | null, done: (fault: Error | null) => void): void {
    this.#cancelTimeout?.();
    this.#line.isWhole = false;
    this.#line.toRouter.drop();
    if (!this.#process.isDead) this.#line.toPeer.end(fault === null ? "closed" : "reset");
    done(fault);
  }

  destroySoon(): void {
    this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", this.destroy);
  }

  setTimeout(ms: number): this {
    this.timeout = ms;
    this.#touch();
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  get #hasRoom(): boolean {
    return this.#line.toPeer.pending < this.#surroundings.streams.faults.pendingMax;
  }

  #goOn(): void {
    const written = this.#written;
    if (written === undefined || !this.#hasRoom) return;
    this.#written = undefined;
    // In the writer's own time: it may be paused, or dead.
    this.#surroundings.world.plan(this.#process, 0, () => {
      if (!this.destroyed) written();
    });
  }

  /** TCP knows no messages: a line may arrive in parts, and be cut between them. */
  #piecesOf(chunk: Buffer): Buffer[] {
    const { random } = this.#surroundings;
    if (chunk.length < 2 || !random.chance(0.2)) return [chunk];
    const at = random.integer(1, chunk.length - 1);
    return [chunk.subarray(0, at), chunk.subarray(at)];
  }

  #put(piece: Buffer): void {
    this.#line.toPeer.put({ type: "message", frames: [Buffer.from(piece)] });
  }

  /** The connection is not silent: its timeout starts anew. */
  #touch(): void {
    this.#cancelTimeout?.();
    this.#cancelTimeout = undefined;
    if (this.timeout === 0 || this.destroyed) return;
    this.#cancelTimeout = this.#surroundings.world.plan(this.#process, this.timeout, () => {
      this.#cancelTimeout = undefined;
      this.emit("timeout");
    });
  }
}

function reset(how: string): Error {
  return Object.assign(new Error(`the connection is ${how}`), { code: "ECONNRESET" });
}
