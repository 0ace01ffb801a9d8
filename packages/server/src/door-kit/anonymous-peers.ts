// The peers of a door whose dialect has no credentials: all are the door's anonymous principal.

import type { Moment } from "@yardmaster/core";
import type { Access } from "../access/access.js";
import type { Principal } from "../access/principal.js";

export class AnonymousPeers {
  readonly #door: string;
  readonly #queue: string;
  readonly #access: Access | undefined;
  readonly #now: () => Moment;

  /** Without `access` every peer may do all. */
  constructor(door: string, queue: string, access: Access | undefined, now: () => Moment) {
    this.#door = door;
    this.#queue = queue;
    this.#access = access;
    this.#now = now;
  }

  may(right: "submit" | "work"): boolean {
    if (this.#access === undefined) return true;
    return this.#principal?.may(right, this.#queue) ?? false;
  }

  /** The name for the story of what a peer does. */
  get by(): string | undefined {
    return this.#principal?.by;
  }

  /** Counts a submission, or refuses it. A client without an acknowledgement tries again later. */
  isTooFast(): boolean {
    const principal = this.#principal;
    if (principal === undefined) return false;
    const isRefused = principal.quotas.takeSubmissions(1, this.#now().instant) > 0;
    if (!isRefused) principal.submitted += 1;
    return isRefused;
  }

  get #principal(): Principal | undefined {
    return this.#access?.anonymousAt(this.#door)?.principal;
  }
}
