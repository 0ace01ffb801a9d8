// Who may speak to this door: the Host and Origin of every request, so that a page in somebody's browser cannot reach a
// dispatcher on loopback (by a name that it resolves itself, or across origins), and the token where one is set.

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { isLocalName } from "../listen-address.js";
import { Problem } from "./problems.js";

export interface AccessOptions {
  /** Names by which it may be called, beside addresses and localhost. */
  readonly hosts: readonly string[];
  readonly token: string | undefined;
}

export class Access {
  readonly #hosts: ReadonlySet<string>;
  readonly #token: Buffer | undefined;
  /** The last that was known: clients call by the same name again and again. */
  #lastHost: string | undefined;

  constructor({ hosts, token }: AccessOptions) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#token = token === undefined ? undefined : digest(token);
  }

  /** Two Hosts: a proxy before us may have gone by the other one. Node itself keeps the first and says nothing. */
  hostFault(rawHeaders: readonly string[]): Problem | undefined {
    let hosts = 0;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at] as string;
      if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    }
    return hosts > 1 ? new Problem("bad_request", "the Host header is there twice; send one") : undefined;
  }

  /** What is wrong with where the request comes from, if anything. */
  originFault({ host, origin }: IncomingHttpHeaders): Problem | undefined {
    if (host === undefined) return new Problem("bad_request", "the Host header is missing");
    if (host !== this.#lastHost && !this.#knowsHost(host)) {
      return new Problem(
        "forbidden",
        `this dispatcher is not called ${JSON.stringify(host.slice(0, 80))}; a name of its own goes under doors.http.hosts`,
      );
    }
    this.#lastHost = host;
    if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return undefined;
    return new Problem("forbidden", "the Origin header names another site");
  }

  tokenFault({ authorization }: IncomingHttpHeaders): Problem | undefined {
    if (!this.#token) return undefined;
    const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    // Digests are of one length, so the comparison takes the same time whatever was sent.
    if (given !== undefined && timingSafeEqual(digest(given), this.#token)) return undefined;
    return new Problem("unauthorized", "this dispatcher asks for Authorization: Bearer and its token");
  }

  #knowsHost(header: string): boolean {
    const [, v6, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(header) ?? [];
    if (v6 !== undefined) return isIP(v6) === 6;
    if (plain === undefined) return false;
    return isIP(plain) === 4 || isLocalName(plain) || this.#hosts.has(plain.toLowerCase());
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
