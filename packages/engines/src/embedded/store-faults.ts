// The faults of a store, with a stable code and a message. LMDB and the system report numbers.

import { statfsSync, statSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { CommitOutcome } from "../engine.js";
import { processLimit, storeFileName } from "./store-file.js";
import { StoreFailure } from "./store-link.js";

export type StoreFaultCode =
  /** The disk or the quota is full. */
  | "full"
  /** The folder or a file is not writable. */
  | "read-only"
  /** There is no folder at the path, and none can be made. */
  | "no-folder"
  /**
   * The disk failed. What was being written may or may not be there, and a second try proves
   * nothing.
   */
  | "io"
  /** A record or the file's structure is damaged. */
  | "damaged"
  /** A file was deleted, moved or replaced while it was in use. */
  | "gone"
  /** Other users can read the folder, and its permissions cannot be changed. */
  | "exposed"
  /** Another process works in the folder. */
  | "in-use"
  /** The file was written by a newer program. */
  | "too-new"
  /** Anything else. */
  | "failed";

export class StoreFault extends Error {
  override readonly name = "StoreFault";
  readonly code: StoreFaultCode;

  constructor(code: StoreFaultCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
  }
}

const { ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, EIO } = constants.errno;

/** LMDB's error numbers. */
const mapFull = -30792;
const structural = new Set([-30797, -30796, -30795, -30794, -30793, -30779]);

const codesByNumber = new Map<number | string | undefined, StoreFaultCode>([
  [ENOSPC, "full"],
  [EDQUOT, "full"],
  [EFBIG, "full"],
  [mapFull, "full"],
  ["ENOSPC", "full"],
  ["EDQUOT", "full"],
  ["EFBIG", "full"],
  [EROFS, "read-only"],
  [EACCES, "read-only"],
  [EPERM, "read-only"],
  ["EROFS", "read-only"],
  ["EACCES", "read-only"],
  ["EPERM", "read-only"],
  ["ENOTDIR", "no-folder"],
  ["EEXIST", "no-folder"],
  ["ENOENT", "no-folder"],
  ["ENAMETOOLONG", "no-folder"],
  ["ELOOP", "no-folder"],
  [EIO, "io"],
  ["EIO", "io"],
]);

const advice: Record<StoreFaultCode, string> = {
  full: "make room and start again",
  "read-only": "make it writable for this user, or name another folder with --data",
  "no-folder": "name a folder with --data",
  io: "the disk failed; look at the system's log before anything else",
  damaged: "start with --repair to set the file aside and keep what can be read",
  gone: "put it back, or start anew; what was not yet acknowledged was not done",
  exposed: "name a folder of this user's own with --data",
  "in-use": "stop that one first, or name another folder with --data",
  "too-new": "use the newer yardmaster",
  failed: "nothing more is known",
};

/**
 * The StoreFault behind an error, with the folder and advice; the error itself if there is none.
 */
export function storeFault(error: unknown, folder: string): unknown {
  if (error instanceof StoreFault) return error;
  const found = codeOf(error);
  if (found === undefined) return error;
  const code = found === "io" && isOutOfRoom(folder) ? "full" : found;
  const { message } = error as Error;
  return new StoreFault(code, `The store in ${folder}: ${message} (${advice[code]})`, error);
}

/**
 * The outcome of a commit that failed with this error. Throws if no later outcome could be trusted.
 */
export function outcomeOf(error: unknown, folder: string): CommitOutcome {
  const { name, message } = error as Error;
  if (name === "Fenced") return { type: "fenced", message };
  const fault = storeFault(error, folder);
  if (fault instanceof StoreFault && fault.code === "full") return { type: "full", message: fault.message };
  throw fault;
}

/** With less free space than this, a short write means a full disk: LMDB has used up the rest. */
const roomBytesMin = 1_048_576;

/**
 * LMDB reports a short write as an input/output error. A full disk, or the system's limit on a
 * file's size, causes a short write.
 */
function isOutOfRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < roomBytesMin) return true;
    const limit = processLimit("Max file size");
    return limit !== undefined && statSync(join(folder, storeFileName)).size + roomBytesMin > limit;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): StoreFaultCode | undefined {
  const { name, code } = error as Error & { code?: number | string };
  if (name === "BadRecord") return "damaged";
  if (name === "SchemaTooNew") return "too-new";
  const known = codesByNumber.get(code);
  if (known !== undefined) return known;
  if (typeof code === "number") return structural.has(code) ? "damaged" : "failed";
  return error instanceof StoreFailure && error.code !== undefined ? "failed" : undefined;
}
