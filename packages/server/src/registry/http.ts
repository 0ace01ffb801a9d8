// The http door: its settings, the ports it needs, and how it is made.

import { randomBytes } from "node:crypto";
import * as z from "zod";
import { anonymousPrincipal } from "../access/settings.js";
import { hostName, listenAddress, listOf, settings, words } from "../config/values.js";
import { HttpDoor } from "../doors/http.js";
import { tlsMistake } from "../http/tls-files.js";
import { type DoorDeclaration, tcpPlaces } from "./door-declaration.js";
import { networkSettings } from "./network-settings.js";

/**
 * Must fit an Authorization header unescaped and be hard to guess: web pages can reach loopback
 * too.
 */
const tokenExpected =
  "16 to 1024 printable characters without spaces; openssl rand -hex 16 prints such a token";

/** As long as the digest of the seal; a longer secret would not be stronger. */
const secretBytes = 32;

const httpSettings = settings({
  listen: listenAddress()
    .prefault("127.0.0.1:7420")
    .describe("Where the http door listens. Beyond loopback it needs credentials (`access`) or `peers`."),
  token: z
    .string({ error: tokenExpected })
    .regex(/^[\x21-\x7e]{16,1024}$/, { error: tokenExpected })
    .optional()
    .describe(
      "A token in clear that has all rights, sent as `Authorization: Bearer …`. Use `access.principals` instead. Default: none.",
    ),
  anonymous: anonymousPrincipal(),
  tls: settings({
    cert: words("a file in PEM form").describe(
      "The certificate for https, with its chain. The files are read again on SIGHUP.",
    ),
    key: words("a file in PEM form").describe("The key of the certificate."),
    clientCa: words("a file in PEM form")
      .optional()
      .describe(
        "The authority that signs client certificates. If set, clients are asked for one; those without may use a token.",
      ),
  }).optional(),
  hosts: listOf(hostName(), "a list of host names")
    .prefault([])
    .describe(
      "Host names under which the door may be reached, besides IP addresses and `localhost`. While every request needs a credential, any name will do.",
    ),
  ...networkSettings,
});

export const httpDeclaration: DoorDeclaration<"http", typeof httpSettings> = {
  name: "http",
  page: "http.md",
  settings: httpSettings,
  places: ({ listen }) => tcpPlaces({ listen }),
  /** Files that cannot be used are found before anything is started or reloaded. */
  mistakes: ({ tls }) => {
    const text = tls && tlsMistake(tls);
    return text === undefined ? [] : [{ key: "tls", text }];
  },
  credentials: {
    areAsked: ({ token, anonymous }, hasAccess) =>
      anonymous === undefined && (token !== undefined || hasAccess),
    line: "access: { principals: … }   # at the top of the file; yardmaster token new NAME prints its lines",
  },
  make: (config, parts) => new HttpDoor({ ...parts, ...parts.api, config, secret: randomBytes(secretBytes) }),
};
