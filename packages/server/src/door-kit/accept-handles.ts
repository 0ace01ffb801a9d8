// Accepts more connections in each turn of the event loop when many wait.
//
// libuv accepts one connection per turn and handle of a listening socket. Under load a turn takes
// tens of milliseconds, so that a host that opens thousands of connections kept new clients waiting
// for minutes. Each further handle accepts one more per turn.
//
// libuv refuses two handles with one descriptor, and Node cannot duplicate a descriptor, except by
// sending the handle to another process. So a short-lived child process sends it back repeatedly.
// It never listens or accepts. If it cannot be started, everything stays as it was.

import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type Server, type ServerOpts, type Socket } from "node:net";

/** Connections are waiting if each turn accepted one for this long, and at least `turnsMin`. */
const crowdedMs = 1_000;
const turnsMin = 8;
/** Each costs one system call for a new connection that another handle accepts: about 1 µs. */
const furtherHandles = 15;

const sendBack = `
  process.on("message", (count, handle) => {
    for (let each = 0; each < count; each += 1) process.send(each, handle, () => {});
  });
  process.on("disconnect", () => process.exit());`;

export interface AcceptOptions {
  /** As the server itself was created: Node does not expose these. */
  readonly streams: ServerOpts;
  /** The backlog of the socket. Each handle sets it again. */
  readonly backlog: number;
  /** Default: `crowdedMs`. */
  readonly crowdedMs?: number;
}

/** A raw handle of a listening socket, as Node passes it between processes. */
interface Handle {
  close(): void;
}

export class AcceptHandles {
  readonly #server: Server;
  readonly #options: AcceptOptions;
  readonly #further: Server[] = [];
  /** Open connections of all handles; `server.maxConnections` counts only those of the first. */
  #open = 0;
  #turn = 0;
  /** Turns in a row in which a connection was accepted, and when the first of them was. */
  #turns = 0;
  #crowdedSince = 0;
  #isWidened = false;
  #isClosed = false;

  /** `server` listens, or will. */
  constructor(server: Server, options: AcceptOptions) {
    this.#server = server;
    this.#options = options;
    // On Windows, libuv accepts as many as wait.
    if (process.platform !== "win32") server.prependListener("connection", this.#noteAccepted);
  }

  get count(): number {
    return this.#further.length + 1;
  }

  /** Stops accepting. Resolves when the connections of the further handles have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#further.map((server) => new Promise((resolve) => server.close(resolve)));
    await Promise.all(closed);
  }

  readonly #noteAccepted = (socket: Socket): void => {
    this.#open += 1;
    socket.once("close", () => {
      this.#open -= 1;
    });
    // Zero is no limit, as for Node.
    const { maxConnections: max } = this.#server;
    if (max > 0 && this.#open > max) socket.destroy();
    if (!this.#isWidened && this.#isCrowded()) this.#widen();
  };

  #isCrowded(): boolean {
    const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
    const now = performance.now();
    if (turn !== this.#turn + 1) {
      this.#turns = 0;
      this.#crowdedSince = now;
    }
    this.#turn = turn;
    this.#turns += 1;
    return this.#turns >= turnsMin && now - this.#crowdedSince >= (this.#options.crowdedMs ?? crowdedMs);
  }

  #widen(): void {
    const child = startChild();
    // Without memory or descriptors for it, the next crowded second tries again.
    this.#turns = 0;
    if (child === undefined) return;
    this.#isWidened = true;
    const ended = () => {
      this.#isWidened = this.#further.length > 0;
    };
    // A child that could not be started has no exit.
    child.on("exit", ended).on("error", ended);
    child.on("message", (each, handle: unknown) => {
      // Without a free descriptor, the message arrives without its handle.
      if (handle !== undefined) this.#acceptAt(handle as Handle);
      if (each === furtherHandles - 1) child.disconnect();
    });
    child.send(furtherHandles, handleOf(this.#server), () => {});
  }

  #acceptAt(handle: Handle): void {
    if (this.#isClosed) return handle.close();
    const { streams, backlog } = this.#options;
    const server = createServer(streams, this.#pass);
    server.on("error", (error) => this.#server.emit("error", error));
    server.listen(handle, backlog);
    this.#further.push(server);
  }

  /** To its user, a connection is one of the first handle's. */
  readonly #pass = (socket: Socket): void => {
    (socket as { server?: Server }).server = this.#server;
    this.#server.emit("connection", socket);
  };
}

function startChild(): ChildProcess | undefined {
  // Flags and preloaded modules of this process are not meant for the child.
  const env = { ...process.env, NODE_OPTIONS: "" };
  try {
    const child = spawn(process.execPath, ["-e", sendBack], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env,
    });
    child.on("error", () => {});
    child.unref();
    child.channel?.unref();
    return child.channel ? child : undefined;
  } catch {
    return undefined;
  }
}

/** Node passes a server to another process only as one that accepts there too. */
function handleOf(server: Server): never {
  return (server as unknown as { _handle: never })._handle;
}
