// The folder that holds the sockets of the controller and its workers. It is created if missing,
// taken over from a dead controller, and never left through a symbolic link.

import {
  accessSync,
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
import { FolderAccess, type FolderSettings } from "./folder-access.js";
import { type Dialled, notASocket, type PulseFolder, type Wire } from "./wire.js";

/**
 * Maximum length of a socket path without its terminating 0; shorter on other systems than on
 * Linux.
 */
const pathBytesMax = process.platform === "linux" ? 107 : 103;
/** A slash, an id of 64 bits, and .sock. */
const nameBytesMax = 26;

/**
 * Linux's O_PATH, for which Node has no name: a handle to the file at a path, whatever kind it is.
 */
const pathOnly = 0o10000000 | constants.O_NOFOLLOW;
const handles = "/proc/self/fd";
const hasHandles = process.platform === "linux" && existsSync(handles);

export class SocketFolder implements PulseFolder {
  readonly dir: string;
  readonly #access: FolderAccess;
  #server: Server | undefined;

  constructor(dir: string, access = new FolderAccess()) {
    this.dir = resolve(dir);
    this.#access = access;
  }

  get mainPath(): string {
    return `${this.dir}/main.sock`;
  }

  workerPath(id: bigint): string {
    return `${this.dir}/${id}.sock`;
  }

  /**
   * [pulse 5.4] Connects only to a socket inside this folder. The file is held by a handle, and the
   * connection is made through the handle. So replacing the file after the check has no effect.
   */
  dial(id: bigint): Dialled {
    const path = this.workerPath(id);
    return hasHandles ? dialHandle(path) : dialPath(path);
  }

  /** [pulse 2.5] Ids of the sockets in the folder, left by workers of an earlier controller. */
  workerIds(): bigint[] {
    const names = readdirSync(this.dir).map((name) => /^([1-9]\d{0,18})\.sock$/.exec(name)?.[1]);
    return names.filter((id) => id !== undefined).map((id) => BigInt(id));
  }

  async listen(take: (wire: Wire) => void, onError: () => void): Promise<void> {
    await this.#clear();
    const server = createServer(take);
    this.#server = server;
    // Created with its final mode, so that no other user can connect in between.
    const umask = process.umask(0o777 & ~this.#access.socketMode);
    try {
      await new Promise<void>((done, fail) => {
        server.once("error", fail);
        server.listen({ path: this.mainPath, backlog }, () => {
          server.off("error", fail);
          // A connection that could not be accepted for lack of file descriptors: its peer tries
          // again.
          server.on("error", onError);
          done();
        });
        process.umask(umask);
      });
      this.#access.applyToSocket(this.mainPath);
    } catch (cause) {
      if (cause instanceof StartFault) throw cause;
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

  /**
   * [pulse 5.2] Removes the socket of a dead controller, but not that of a living one, nor a file
   * that is no socket.
   */
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
    // The connect call is made before this returns; the handle is not needed after that.
    return { wire: createConnection(`${handles}/${handle}`) };
  } finally {
    closeSync(handle);
  }
}

/**
 * For systems without such handles: a user who may write to the folder can replace the file between
 * check and connect.
 */
function dialPath(path: string): Dialled {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { missed: "ENOENT" };
  return stats.isSocket() ? { wire: createConnection(path) } : { missed: notASocket };
}

/** The maximum that the system allows: a thousand workers may pulse at the same moment. */
const backlog = 4096;

/** Returns the error code of a test connection. */
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

/** [pulse 5.3] The first of the two folders that is writable. */
export function openSocketFolder(wanted: string, instead: string, settings?: FolderSettings): SocketFolder {
  const access = new FolderAccess(settings);
  for (const dir of [wanted, instead]) {
    const folder = new SocketFolder(dir, access);
    if (Buffer.byteLength(folder.dir) + nameBytesMax > pathBytesMax) {
      throw new StartFault(
        `door pulse: ${folder.dir} is too long for a socket's folder (at most ${pathBytesMax - nameBytesMax} bytes)`,
      );
    }
    if (isWritable(folder.dir, access)) return folder;
  }
  throw new StartFault(`door pulse: neither ${wanted} nor ${instead} is a folder that can be written`);
}

function isWritable(dir: string, access: FolderAccess): boolean {
  try {
    const isNew = mkdirSync(dir, { recursive: true, mode: access.dirMode }) !== undefined;
    accessSync(dir, constants.W_OK | constants.X_OK);
    if (!statSync(dir).isDirectory()) return false;
    access.applyToFolder(dir, isNew);
    return true;
  } catch (fault) {
    if (fault instanceof StartFault) throw fault;
    return false;
  }
}
