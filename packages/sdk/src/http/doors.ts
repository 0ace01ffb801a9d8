// The http doors of a cluster's dispatchers, of which one at a time owns the yard. Requests go to
// the door that answered last. When it does not own the yard, or cannot be reached, one search for
// the owner serves all requests that wait for it.
//
// Only doors that the caller named are ever asked. The address that a dispatcher gives for the
// owner only decides which of them is looked at first.

import { hostAndPort, type YardAddress } from "../address.js";
import { pause } from "../pause.js";

/** Pause between two rounds of looks, unless a dispatcher asks for a longer one. */
const roundMs = 250;
const roundMsMax = 5_000;
/** A take-over is a matter of a second. Without an owner for this long, requests fail. */
const searchMsMax = 10_000;

/** What a look at one door found. */
export interface Look {
  readonly state: "ready" | "waiting" | "unreachable";
  /** The pause that the dispatcher asks for. */
  readonly retryMs?: number | undefined;
}

/** The refusal of a door whose dispatcher does not own the yard. */
export interface NotOwned {
  /** The owner's address; absent if the door could not be reached. */
  readonly owner?: string | undefined;
  readonly retryMs?: number | undefined;
}

export class Doors<Door extends { readonly address: YardAddress }> {
  readonly all: readonly [Door, ...Door[]];
  readonly #look: (door: Door) => Promise<Look>;
  readonly #closing = new AbortController();
  #current: Door;
  #search: Promise<boolean> | undefined;

  /** `look` never rejects. */
  constructor(doors: readonly [Door, ...Door[]], look: (door: Door) => Promise<Look>) {
    this.all = doors;
    this.#look = look;
    this.#current = doors[0];
  }

  /** The door to ask. */
  get current(): Door {
    return this.#current;
  }

  close(): void {
    this.#closing.abort();
  }

  /**
   * Looks for the owner, because `failed` is not it. Resolves with true when there is a door to
   * try, and with false if no door can be reached, or none has become the owner.
   */
  find(failed: Door, said: NotOwned): Promise<boolean> {
    // Another request has found it meanwhile.
    if (failed !== this.#current) return Promise.resolve(true);
    this.#search ??= this.#find(failed, said).finally(() => {
      this.#search = undefined;
    });
    return this.#search;
  }

  async #find(failed: Door, { owner, retryMs }: NotOwned): Promise<boolean> {
    const at = this.all.indexOf(failed);
    const others = [...this.all.slice(at + 1), ...this.all.slice(0, at)];
    const named = others.filter(({ address }) => owner !== undefined && isAt(address, owner));
    let doors = [...new Set([...named, ...others])];
    let waiting: Look = { state: retryMs === undefined ? "unreachable" : "waiting", retryMs };
    for (const end = performance.now() + searchMsMax; ; ) {
      for (const door of doors) {
        const look = await this.#look(door);
        if (look.state === "ready") this.#current = door;
        if (look.state === "ready" || this.#closing.signal.aborted) return look.state === "ready";
        if (look.state === "waiting") waiting = longer(waiting, look);
      }
      if (waiting.state === "unreachable" || performance.now() > end) return false;
      const pauseMs = Math.min(Math.max(waiting.retryMs ?? 0, roundMs), roundMsMax);
      await pause(pauseMs, this.#closing.signal);
      waiting = { state: "unreachable" };
      doors = [...others, failed];
    }
  }
}

function longer(one: Look, other: Look): Look {
  return (one.retryMs ?? 0) > (other.retryMs ?? 0) ? one : other;
}

/** True if the URL names this host and port. */
function isAt(address: YardAddress, url: string): boolean {
  try {
    const { protocol, hostname, port } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const usual = protocol === "https:" ? 443 : 80;
    return hostAndPort({ host, port: port === "" ? usual : Number(port) }) === hostAndPort(address);
  } catch {
    return false;
  }
}
