// Limits what a datagram door sends to an address that may be forged. An attacker can send small
// requests in the name of a victim, who would get the large answers. So an address gets at most a
// few times the bytes that it sent, until it has acknowledged a datagram, which only a program that
// receives them can do.

import { isLoopback } from "../listen-address.js";

interface Account {
  receivedBytes: number;
  sentBytes: number;
  isProven: boolean;
}

/** As in QUIC [RFC 9000, 8.1]. */
const defaultFactor = 3;
/** Enough for every peer of a large yard. A flood of forged addresses evicts the oldest. */
const accountsMax = 65_536;

export class AmplificationLimit {
  readonly #factor: number;
  readonly #accounts = new Map<string, Account>();

  constructor(factor = defaultFactor) {
    this.#factor = factor;
  }

  received(peer: string, bytes: number): void {
    this.#accountOf(peer).receivedBytes += bytes;
  }

  /** The peer has received one of our datagrams. */
  acknowledged(peer: string): void {
    this.#accountOf(peer).isProven = true;
  }

  /** True if the datagram may be sent, and then it is counted. Loopback cannot be forged. */
  maySend({ name, host }: { readonly name: string; readonly host: string }, bytes: number): boolean {
    const account = this.#accountOf(name);
    if (this.#isTrusted(account, host)) return true;
    if (account.sentBytes + bytes > this.#factor * account.receivedBytes) return false;
    account.sentBytes += bytes;
    return true;
  }

  /** True if there is no limit for this peer. */
  trusts({ name, host }: { readonly name: string; readonly host: string }): boolean {
    return this.#isTrusted(this.#accountOf(name), host);
  }

  /** True if a restart should remember that this peer is no forgery. Loopback is trusted anyway. */
  isToRemember({ name, host }: { readonly name: string; readonly host: string }): boolean {
    return this.#accounts.get(name)?.isProven === true && !isLoopback(host);
  }

  /** Most peers are on loopback or proven, and asking costs little. */
  #isTrusted(account: Account, host: string): boolean {
    return account.isProven || isLoopback(host);
  }

  #accountOf(peer: string): Account {
    const known = this.#accounts.get(peer);
    if (known !== undefined) return known;
    const account = { receivedBytes: 0, sentBytes: 0, isProven: false };
    this.#accounts.set(peer, account);
    if (this.#accounts.size > accountsMax) this.#evict();
    return account;
  }

  /** An unproven account goes first: a flood of forged addresses must not evict real peers. */
  #evict(): void {
    let oldest: string | undefined;
    let seen = 0;
    for (const [peer, { isProven }] of this.#accounts) {
      oldest ??= peer;
      if (!isProven || ++seen > searchedMax) {
        this.#accounts.delete(isProven ? oldest : peer);
        return;
      }
    }
  }
}

/** How many proven accounts are passed over in search of one to evict. */
const searchedMax = 64;
