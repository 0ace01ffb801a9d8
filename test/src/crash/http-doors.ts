// The http doors of a yard as a client without the SDK uses them: it asks one of them, and after a
// refusal or a broken connection the next.

import type { Ledger } from "./ledger.js";
import { pause } from "./timing.js";

/** Longer than any answer takes. A dispatcher that was stopped gives none. */
const requestMsMax = 10_000;
const againMs = 50;

/** The answer to a request that met a mistake of the dispatcher. */
const internalError = 500;

export class HttpDoors {
  readonly #urls: readonly string[];
  readonly #ledger: Ledger;
  #turn = 0;

  constructor(urls: readonly string[], ledger: Ledger) {
    this.#urls = urls;
    this.#ledger = ledger;
  }

  /** Asks once. */
  async ask(path: string, request: RequestInit = {}): Promise<Response> {
    const turn = this.#turn;
    try {
      const url = `${this.#urls[turn % this.#urls.length]}${path}`;
      const response = await fetch(url, { signal: AbortSignal.timeout(requestMsMax), ...request });
      if (response.status === 503) this.#turn = turn + 1;
      if (response.status === internalError) this.#ledger.erred(path, await response.clone().text());
      return response;
    } catch (error) {
      this.#turn = turn + 1;
      throw error;
    }
  }

  /** Reads, until there is an answer. */
  async read(path: string): Promise<Response> {
    for (;;) {
      const response = await this.ask(path).catch(() => undefined);
      if (response !== undefined && response.status < 500) return response;
      await response?.body?.cancel();
      await pause(againMs);
    }
  }
}
