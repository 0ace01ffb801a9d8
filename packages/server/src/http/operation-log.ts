// One log line for each order of an operator: who did what, and with which outcome. Only where
// principals are known, because an address alone says little.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";

const urlShownMax = 200;

/** A principal without the right may send any number of orders, so each kind is logged once. */
const refusedQuietMs = 60_000;
/** Kinds of refused orders that are told apart in that time. */
const refusedMax = 1_000;

export class OperationLog {
  readonly #log: Logger;
  readonly #nowMs: () => number;
  readonly #refused = new Set<string>();
  #quietUntil = Number.NEGATIVE_INFINITY;

  constructor(log: Logger, nowMs: () => number) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  note(request: FastifyRequest, reply: FastifyReply): void {
    const { right, operation } = request.routeOptions.config;
    if (typeof right !== "object" || right[0] !== "operate") return;
    const principal = request.login?.principal.by;
    if (principal === undefined) return;
    const { ip: peer, url } = request;
    const status = reply.statusCode;
    const isRefused = status >= 400;
    if (isRefused && !this.#isNews(`${principal} ${operation?.id} ${status}`)) return;
    // Whatever was refused may have a secret where a parameter should be.
    const path = (isRefused ? (url.split("?")[0] as string) : url).slice(0, urlShownMax);
    this.#log.info(
      { door: "http", principal, peer, operation: operation?.id, path, status },
      "an operator's order",
    );
  }

  #isNews(order: string): boolean {
    const now = this.#nowMs();
    if (now >= this.#quietUntil) {
      this.#refused.clear();
      this.#quietUntil = now + refusedQuietMs;
    }
    if (this.#refused.has(order) || this.#refused.size >= refusedMax) return false;
    this.#refused.add(order);
    return true;
  }
}
