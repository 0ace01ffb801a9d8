// Decides which requests this door accepts. It checks Host and Origin, so that a web page in a
// browser cannot reach a dispatcher on loopback (through a name that the page controls, or across
// origins). Who sends the request is checked elsewhere: see http-logins.ts.

import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { isLocalName } from "../listen-address.js";
import { Problem } from "./problems.js";

export class OriginRules {
  readonly #hosts: ReadonlySet<string>;
  readonly #areCredentialsAsked: () => boolean;
  /** The last known Host: a client uses the same one for every request. */
  #lastHost: string | undefined;

  /**
   * `hosts`: names under which the door may be reached, in addition to addresses and localhost.
   * `areCredentialsAsked`: true while every request needs a credential. Then any name will do: a
   * web page has no token, and a browser shows a client certificate only under a name that the
   * door's own certificate has.
   */
  constructor(hosts: readonly string[], areCredentialsAsked: () => boolean = () => false) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#areCredentialsAsked = areCredentialsAsked;
  }

  /**
   * Refuses two Host headers: a proxy in front of us may have used the other one. Node silently
   * keeps the first.
   */
  hostFault(rawHeaders: readonly string[]): Problem | undefined {
    let hosts = 0;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at] as string;
      if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    }
    return hosts > 1 ? new Problem("bad_request", "there are two Host headers; send one") : undefined;
  }

  /** Returns the problem with the request's Host or Origin, if there is one. */
  originFault({ host, origin }: IncomingHttpHeaders): Problem | undefined {
    if (host === undefined) return new Problem("bad_request", "the Host header is missing");
    if (host === this.#lastHost || this.#knowsHost(host)) this.#lastHost = host;
    else if (!this.#areCredentialsAsked()) {
      return new Problem(
        "forbidden",
        `this dispatcher has no host name ${JSON.stringify(host.slice(0, 80))}; add its names to doors.http.hosts`,
      );
    }
    if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return undefined;
    return new Problem("forbidden", "the Origin header names another site");
  }

  #knowsHost(header: string): boolean {
    const [, v6, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(header) ?? [];
    if (v6 !== undefined) return isIP(v6) === 6;
    if (plain === undefined) return false;
    return isIP(plain) === 4 || isLocalName(plain) || this.#hosts.has(plain.toLowerCase());
  }
}
