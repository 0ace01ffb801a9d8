// The folder in which the controller and its workers have their sockets: made if it is not there, taken over from a
// controller that is dead, and never left by way of a symbolic link.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { createConnection, createServer, type Server } from "node:net";
import { resolve } from "node:path";
import { StartFault } from "../door-kit/door.js";
import { type Dialled, notASocket, type PulseFolder, type Wire } from "./wire.js";

/** [pulse 5.1] Of the folder: its user makes sockets in it, its group may find them. */
const folderMode = 0o750;
/** [pulse 5.1] Of main.sock: user and group may connect. */
const socketMode = 0o660;
/** What a socket's address holds on Linux, less its closing 0; 104 on other systems. */
const pathBytesMax = process.platform === "linux" ? 107 : 103;
/** A slash, an id of 64 bits, and .sock. */
const nameBytesMax = 26;

/** A handle of what lies at a path, whatever it is, and of nothing else: Linux's O_PATH, which Node has no name for. */
const pathOnly = 0o10000000 | constants.O_NOFOLLOW;
const handles = "/proc/self/fd";
const hasHandles = process.platform === "linux" && existsSync(handles);

export class SocketFolder implements PulseFolder {
  readonly dir: string;
  #server: Server | undefined;

  constructor(dir: string) {
    this.dir = resolve(dir);
  }

  get mainPath(): string {
    return `${this.dir}/main.sock`;
  }

  workerPath(id: bigint): string {
    return `${this.dir}/${id}.sock`;
  }

  /**
   * [pulse 5.4] Nothing is connected to that is not a socket in this folder. What is looked at is held by a handle, and the
   * connection is made through that: whatever is put in its place meanwhile, it is not where we connect to.
   */
  dial(id: bigint): Dialled {
    const path = this.workerPath(id);
    return hasHandles ? dialHandle(path) : dialPath(path);
  }

  /** [pulse 2.5] The ids of sockets that lie here, from workers of a controller before this one. */
  workerIds(): bigint[] {
    const names = readdirSync(this.dir).map((name) => /^([1-9]\d{0,18})\.sock$/.exec(name)?.[1]);
    return names.filter((id) => id !== undefined).map((id) => BigInt(id));
  }

  async listen(take: (wire: Wire) => void, onError: () => void): Promise<void> {
    await this.#clear();
    const server = createServer(take);
    this.#server = server;
    // Made with its mode, so that nobody else connects in between.
    const umask = process.umask(0o777 & ~socketMode);
    try {
      await new Promise<void>((done, fail) => {
        server.once("error", fail);
        server.listen({ path: this.mainPath, backlog }, () => {
          server.off("error", fail);
          // A connection that could not be taken, for want of descriptors: its peer tries again.
          server.on("error", onError);
          done();
        });
        process.umask(umask);
      });
      chmodSync(this.mainPath, socketMode);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new StartFault(`door pulse: ${code}: cannot listen on ${this.mainPath}`, { cause });
    } finally {
      process.umask(umask);
    }
  }

  close(): Promise<void> {
    const server = this.#server;
    return new Promise((done) => {
      if (server?.listening !== true) done();
      else server.close(() => done());
    });
  }

  /** [pulse 5.2] The socket of a dead controller goes; that of a living one stays, and so does what is no socket. */
  async #clear(): Promise<void> {
    const stats = lstatSync(this.mainPath, { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isSocket()) throw new StartFault(`door pulse: ${this.mainPath} is there, and is not a socket`);
    const state = await knock(this.mainPath);
    if (state === "ECONNREFUSED") unlinkSync(this.mainPath);
    else if (state !== "ENOENT") {
      const reason = state === "EACCES" ? "this user may not connect to" : "another controller listens on";
      throw new StartFault(`door pulse: ${reason} ${this.mainPath}`);
    }
  }
}

function dialHandle(path: string): Dialled {
  let handle: number;
  try {
    handle = openSync(path, pathOnly);
  } catch (error) {
    return { missed: (error as NodeJS.ErrnoException).code ?? "unknown" };
  }
  try {
    if (!fstatSync(handle).isSocket()) return { missed: notASocket };
    // The system is asked to connect before this returns; then the handle has done its part.
    return { wire: createConnection(`${handles}/${handle}`) };
  } finally {
    closeSync(handle);
  }
}

/** Where there are no handles: between the look and the connection, who may write into the folder may change it. */
function dialPath(path: string): Dialled {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { missed: "ENOENT" };
  return stats.isSocket() ? { wire: createConnection(path) } : { missed: notASocket };
}

/** As many as the system lets wait: a thousand workers may pulse in the same moment. */
const backlog = 4096;

/** What a connection meets. */
function knock(path: string): Promise<string> {
  return new Promise((done) => {
    const socket = createConnection(path);
    socket.once("connect", () => {
      socket.destroy();
      done("connected");
    });
    socket.once("error", ({ code = "unknown" }: NodeJS.ErrnoException) => done(code));
  });
}

/** [pulse 5.3] The first of the two folders that can be written. */
export function openSocketFolder(wanted: string, instead: string): SocketFolder {
  for (const dir of [wanted, instead]) {
    const folder = new SocketFolder(dir);
    if (Buffer.byteLength(folder.dir) + nameBytesMax > pathBytesMax) {
      throw new StartFault(
        `door pulse: ${folder.dir} is too long for a socket's folder (at most ${pathBytesMax - nameBytesMax} bytes)`,
      );
    }
    if (isWritable(folder.dir)) return folder;
  }
  throw new StartFault(`door pulse: neither ${wanted} nor ${instead} is a folder that can be written`);
}

function isWritable(dir: string): boolean {
  try {
    if (mkdirSync(dir, { recursive: true, mode: folderMode }) !== undefined) chmodSync(dir, folderMode);
    accessSync(dir, constants.W_OK | constants.X_OK);
    return statSync(dir).isDirectory();
  } catch {
    return false;
  }
}
