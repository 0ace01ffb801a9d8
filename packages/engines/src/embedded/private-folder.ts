// The folder of a store is its owner's alone. It holds payloads, results, and the secret that seals attempt tokens: with that
// another user could answer in a worker's place.

import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { privateFileMode, privateFolderMode } from "./private-modes.js";
import { StoreFault } from "./store-faults.js";

/** Rights of the group and of everybody else. */
const othersMask = 0o077;
const ownNames = /^(yard\.|owner\.json)/;

/**
 * Makes the folder if it is not there, and takes it and the store's files from all others. What had to be changed, in words.
 * Throws StoreFault `exposed`, or what the system says of the place that keeps the folder from being made.
 */
export function makePrivateFolder(folder: string): string[] {
  if (!existsSync(folder)) makeFolder(folder);
  const changed: string[] = [];
  if (tighten(folder, privateFolderMode)) changed.push(folder);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (ownNames.test(name) && tighten(path, privateFileMode)) changed.push(path);
  }
  return changed;
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: privateFolderMode });
  } catch (error) {
    // Of a folder several levels down, Node says that it does not exist and not why it cannot.
    let place = resolve(folder);
    while (!existsSync(place)) place = dirname(place);
    accessSync(place, constants.W_OK);
    throw error;
  }
}

/** Whether others had rights there. */
function tighten(path: string, mode: number): boolean {
  // Windows has no such rights; a file may have gone meanwhile.
  const found = process.getuid === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & othersMask) === 0) return false;
  try {
    chmodSync(path, mode);
    return true;
  } catch (error) {
    // A disk that cannot be written is its own fault, and has its own words.
    if ((error as NodeJS.ErrnoException).code === "EROFS") throw error;
    throw new StoreFault(
      "exposed",
      `${path} is open to other users, belongs to user ${found.uid}, and cannot be closed to them (name a folder of this user's own with --data)`,
      error,
    );
  }
}
