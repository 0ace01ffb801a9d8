// Hides what the reader of the page may not do. The rights are asked for after each sign-in. Until
// the answer is there, everything is shown: the dispatcher itself refuses what is not allowed.

import { allows, type Right, type Rights } from "../model/rights.js";
import { getJson, session } from "./session.js";
import { useChanges } from "./ticker.js";

interface Me {
  readonly principal: string | null;
  readonly rights: Rights;
}

let me: Me | undefined;
const listeners = new Set<() => void>();

export function startRights(): void {
  session.onChange(() => void load());
  void load();
}

let loads = 0;

async function load(): Promise<void> {
  loads += 1;
  const number = loads;
  // The next reader must not keep the previous one's rights.
  me = undefined;
  if (session.isSignedOut) return;
  const read = await getJson<Me>("v1/me").catch(() => undefined);
  if (number !== loads) return;
  me = read;
  for (const listener of listeners) listener();
}

/** Without a queue: true if the reader may do it in some queue. */
export function mayDo(right: Right, queue?: string): boolean {
  return me === undefined || allows(me.rights, right, queue);
}

/** True if the reader may do it in all these queues. */
export function mayDoInAll(right: Right, queues: readonly string[]): boolean {
  return queues.every((queue) => mayDo(right, queue));
}

/** Renders again when the rights are known. */
export function useRights(): void {
  useChanges((changed) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  });
}
