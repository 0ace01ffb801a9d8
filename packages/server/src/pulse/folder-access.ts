// Who may reach the sockets of the pulse door: modes, owner and group of the folder and of
// main.sock.

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync } from "node:fs";
import { StartFault } from "../door-kit/door.js";

export interface FolderSettings {
  readonly dirMode?: string | undefined;
  readonly socketMode?: string | undefined;
  readonly owner?: string | undefined;
  readonly group?: string | undefined;
}

/** [pulse 5.1] The user creates sockets in the folder, and the group may look them up. */
const dirModeDefault = "0750";
/** [pulse 5.1] User and group may connect to main.sock. */
const socketModeDefault = "0660";

export class FolderAccess {
  readonly dirMode: number;
  readonly socketMode: number;
  readonly #uid: number;
  readonly #gid: number;
  readonly #isGiven: boolean;

  /** Throws a StartFault for a user or group that does not exist. */
  constructor({ dirMode, socketMode, owner, group }: FolderSettings = {}) {
    this.dirMode = Number.parseInt(dirMode ?? dirModeDefault, 8);
    this.socketMode = Number.parseInt(socketMode ?? socketModeDefault, 8);
    this.#uid = owner === undefined ? unchanged : idOf("passwd", "user", owner);
    this.#gid = group === undefined ? unchanged : idOf("group", "group", group);
    this.#isGiven = dirMode !== undefined || owner !== undefined || group !== undefined;
  }

  /** An existing folder keeps its mode and owner, unless the configuration names them. */
  applyToFolder(dir: string, isNew: boolean): void {
    if (isNew || this.#isGiven) this.#apply(dir, this.dirMode);
  }

  applyToSocket(path: string): void {
    this.#apply(path, this.socketMode);
  }

  #apply(path: string, mode: number): void {
    try {
      chmodSync(path, mode);
      if (this.#uid !== unchanged || this.#gid !== unchanged) chownSync(path, this.#uid, this.#gid);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new StartFault(
        `door pulse: ${code}: this user may not set the mode, owner or group of ${path} (doors.pulse.owner, group, dirMode)`,
        { cause },
      );
    }
  }
}

/** Of chown: leaves it as it is. */
const unchanged = -1;

function idOf(database: "passwd" | "group", kind: string, name: string): number {
  if (/^\d{1,10}$/.test(name)) return Number(name);
  const { stdout } = spawnSync("getent", [database, name], { encoding: "utf8" });
  const [, , id] = (stdout ?? "").split(":");
  if (id === undefined) throw new StartFault(`door pulse: there is no ${kind} ${name}`);
  return Number(id);
}
