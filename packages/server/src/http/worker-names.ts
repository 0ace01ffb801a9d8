// A principal's workers have its name in theirs, so that no other principal can act for them: the
// token of a worker stands for all its attempts.

import { type WorkerId, workerIdOf } from "@yardmaster/core";
import { tokenPrincipal } from "../access/access.js";
import type { Login } from "../access/principal.js";

const door = "http";

/** The name under which a worker of this login is known. */
export function workerNameOf(login: Login, name: string): string {
  const space = spaceOf(login);
  return space === undefined ? name : `${space}${name}`;
}

/** The id of a worker of this login. The worker itself does not know that its name was extended. */
export function ownWorkerId(login: Login, id: string): WorkerId {
  const space = spaceOf(login);
  const prefix = `${door}/`;
  if (space === undefined || !id.startsWith(prefix) || id.startsWith(`${prefix}${space}`))
    return id as WorkerId;
  return workerIdOf(door, `${space}${id.slice(prefix.length)}`);
}

/**
 * True if a worker of this login may have this name. A token that has leaked to another principal
 * names a worker that is not its own.
 */
export function mayHaveName(login: Login, name: string): boolean {
  const space = spaceOf(login);
  return space === undefined || name.startsWith(space);
}

/** True if a worker with this id can only be one of this login. */
export function isOwnName(login: Login, id: string): boolean {
  const space = spaceOf(login);
  return space !== undefined && id.startsWith(`${door}/${space}`);
}

/** Undefined where there are no principals, or only the one of doors.http.token. */
function spaceOf({ principal: { by } }: Login): string | undefined {
  return by === undefined || by === tokenPrincipal ? undefined : `${by}/`;
}
