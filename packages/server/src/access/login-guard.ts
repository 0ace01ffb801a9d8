// Slows down guessing. Each address may fail a few times; after that its logins are refused without
// saying whether the credential was right, until time has passed. A login that has succeeded from
// the address before goes on, so that one bad client does not lock out its neighbours.

import { isIPv6 } from "node:net";
import type { Login } from "./principal.js";

export interface LoginGuardOptions {
  /** Failures at once after a pause. */
  readonly failures?: number;
  /** Time after which one more failure is allowed. */
  readonly everyMs?: number;
}

/** `slowed`: too many failures; the credential was not looked at, as far as the peer can see. */
export type LoginVerdict = "in" | "wrong" | "slowed";

interface Address {
  /** Failures that are still allowed. */
  left: number;
  atMs: number;
  /** Logins that succeeded here. There are at most as many as are configured. */
  known: Set<Login> | undefined;
}

/** Enough to remember a large office; a flood from more addresses evicts the oldest. */
const addressesMax = 10_000;

export class LoginGuard {
  readonly #failuresMax: number;
  readonly #everyMs: number;
  /** Least recently used first. */
  readonly #addresses = new Map<string, Address>();
  /** For metrics. */
  failed = 0;
  slowed = 0;

  constructor({ failures = 10, everyMs = 1000 }: LoginGuardOptions = {}) {
    this.#failuresMax = failures;
    this.#everyMs = everyMs;
  }

  get addresses(): number {
    return this.#addresses.size;
  }

  /** `login` is what the credential gave; undefined if it is wrong. */
  judge(host: string, login: Login | undefined, nowMs: number): LoginVerdict {
    const key = networkOf(host);
    const address = this.#addresses.get(key) ?? { left: this.#failuresMax, atMs: nowMs, known: undefined };
    this.#refill(address, nowMs);
    this.#note(key, address);
    if (login !== undefined && (address.left >= 1 || address.known?.has(login))) {
      // A success before the first failure counts as well: the flood may come later.
      address.known ??= new Set();
      address.known.add(login);
      return "in";
    }
    this.failed += 1;
    if (address.left < 1) {
      this.slowed += 1;
      return "slowed";
    }
    address.left -= 1;
    return "wrong";
  }

  /** Milliseconds until this address may try again. */
  waitMs(host: string): number {
    const left = this.#addresses.get(networkOf(host))?.left ?? 1;
    return left >= 1 ? 0 : Math.ceil((1 - left) * this.#everyMs);
  }

  #refill(address: Address, nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - address.atMs);
    address.left = Math.min(this.#failuresMax, address.left + elapsedMs / this.#everyMs);
    address.atMs = nowMs;
  }

  #note(key: string, address: Address): void {
    this.#addresses.delete(key);
    this.#addresses.set(key, address);
    if (this.#addresses.size <= addressesMax) return;
    for (const oldest of this.#addresses.keys()) {
      this.#addresses.delete(oldest);
      break;
    }
  }
}

/** One subscriber usually has a whole /64 of IPv6 addresses. */
function networkOf(host: string): string {
  if (!isIPv6(host) || /^::ffff:/i.test(host)) return host;
  return expanded(host).slice(0, 4).join(":");
}

function expanded(host: string): string[] {
  const [head = "", tail] = host.replace(/%.*$/, "").split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...new Array(Math.max(0, zeros)).fill("0"), ...right].map((part) =>
    Number.parseInt(part, 16).toString(16),
  );
}
