// Keeps other users out of a store's folder. It holds payloads, results, and the secret that signs
// attempt tokens, with which another user could answer in place of a worker.

import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { privateFileMode, privateFolderMode } from "./private-modes.js";
import { StoreFault } from "./store-faults.js";

/** Permissions of the group and of all others. */
const othersMask = 0o077;
const ownNames = /^(yard\.|owner\.json)/;
/** Of a new disk. */
const emptyNames: ReadonlySet<string> = new Set(["lost+found"]);

/**
 * Creates the folder if needed, and removes other users' permissions from it and from the store's
 * files. Returns the paths that were changed. Throws StoreFault `exposed`, also if it is open and
 * not a store's, or the system's error if the folder cannot be created.
 */
export function makePrivateFolder(folder: string): string[] {
  if (!existsSync(folder)) makeFolder(folder);
  const changed: string[] = [];
  refuseForeign(folder);
  if (tighten(folder, privateFolderMode)) changed.push(folder);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (ownNames.test(name) && tighten(path, privateFileMode)) changed.push(path);
  }
  return changed;
}

/** Someone's own folder, such as a home or `/etc`, must not be closed to its other users. */
function refuseForeign(folder: string): void {
  if (process.getuid === undefined || (statSync(folder).mode & othersMask) === 0) return;
  const names = readdirSync(folder);
  const other = names.find((name) => !emptyNames.has(name));
  if (other === undefined || names.some((name) => ownNames.test(name))) return;
  throw new StoreFault(
    "exposed",
    `${folder} is open to other users and has other things in it, such as ${other} (name a folder of this user's own with --data)`,
  );
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: privateFolderMode });
  } catch (error) {
    // For a nested folder, Node says that it does not exist and not why it cannot be created.
    let place = resolve(folder);
    while (!existsSync(place)) place = dirname(place);
    accessSync(place, constants.W_OK);
    throw error;
  }
}

/** Returns true if others had permissions there. */
function tighten(path: string, mode: number): boolean {
  // Windows has no such permissions; a file may have been deleted meanwhile.
  const found = process.getuid === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & othersMask) === 0) return false;
  try {
    chmodSync(path, mode);
    return true;
  } catch (error) {
    // A read-only disk is a fault of its own, with its own message.
    if ((error as NodeJS.ErrnoException).code === "EROFS") throw error;
    throw new StoreFault(
      "exposed",
      `${path} is open to other users, belongs to user ${found.uid}, and cannot be closed to them (name a folder of this user's own with --data)`,
      error,
    );
  }
}
