// What a socket's user says about security, turned into mechanisms: which ones bind() accepts, and
// the one that connect() uses.

import { randomBytes } from "node:crypto";
import { loadNacl, type Nacl } from "../crypto/nacl.js";
import { type CurveKey, curvePublicKey, readCurveKey } from "../curve-keys.js";
import { encodeZ85 } from "../z85.js";
import { CurveClient, type CurveClientKeys } from "./curve-client.js";
import { CurveServer, type CurveServerKeys, curveServerKeys } from "./curve-server.js";
import type { Authenticate } from "./handshake.js";
import type { Security } from "./mechanism.js";
import { nullSecurity, nullServer } from "./null.js";
import { type PlainCredentials, plainClient, plainServer } from "./plain.js";

export type MechanismName = "NULL" | "PLAIN" | "CURVE";

/** For sockets that bind. */
export interface ListenSecurity {
  /**
   * The mechanisms that peers may choose from. Any other ends the connection, so a peer without
   * credentials gets in only if NULL is listed.
   */
  readonly mechanisms: readonly MechanismName[];
  /**
   * The server's secret key. CURVE needs it. A function is asked in each handshake, so that the key
   * can change while the socket is open. Connections that are open keep their own keys.
   */
  readonly secretKey?: CurveKey | (() => CurveKey);
  /** Called for every mechanism, NULL too. */
  readonly authenticate: Authenticate;
}

export interface CurveCredentials {
  readonly serverKey: CurveKey;
  /** Derived from the secret key if it is left out. */
  readonly publicKey?: CurveKey;
  readonly secretKey: CurveKey;
}

/** For sockets that connect. */
export type ConnectSecurity = { readonly plain: PlainCredentials } | { readonly curve: CurveCredentials };

export type SecurityOption = ListenSecurity | ConnectSecurity | Security;

export interface SettledSecurity {
  /** Empty if the socket may not bind. */
  readonly listen: readonly Security[];
  /** Undefined if the socket may not connect. */
  readonly connect: Security | undefined;
}

/** Throws if the settings are incomplete or contradict each other. */
export function settleSecurity(option: SecurityOption | undefined): SettledSecurity {
  if (option === undefined) return { listen: [nullSecurity], connect: nullSecurity };
  if ("open" in option) return { listen: [option], connect: option };
  if ("plain" in option) return { listen: [], connect: plainClient(option.plain) };
  if ("curve" in option) return { listen: [], connect: curveClient(option.curve) };
  const { mechanisms } = option;
  if (mechanisms.length === 0 || new Set(mechanisms).size < mechanisms.length) {
    throw new TypeError("security.mechanisms names at least one of NULL, PLAIN and CURVE, each once");
  }
  return { listen: mechanisms.map((name) => serverOf(name, option)), connect: undefined };
}

function serverOf(name: MechanismName, { secretKey, authenticate }: ListenSecurity): Security {
  switch (name) {
    case "NULL":
      return nullServer(authenticate);
    case "PLAIN":
      return plainServer(authenticate);
    case "CURVE":
      if (secretKey === undefined) throw new TypeError("CURVE needs security.secretKey, the server's key");
      return curveServer(secretKey, authenticate);
    default:
      throw new TypeError(`no such security mechanism: ${name satisfies never}`);
  }
}

function curveServer(key: CurveKey | (() => CurveKey), authenticate: Authenticate): Security {
  const currentKey = typeof key === "function" ? key : () => key;
  let given = currentKey();
  let secretKey = readCurveKey(given, "security.secretKey");
  let keys: CurveServerKeys | undefined;
  const makeKeys = (nacl: Nacl) => curveServerKeys(nacl, { random: randomBytes, secretKey, authenticate });
  return {
    name: "CURVE",
    isServer: true,
    async load() {
      const nacl = await loadNacl();
      keys ??= makeKeys(nacl);
    },
    open(context) {
      const now = currentKey();
      if (now !== given) {
        given = now;
        secretKey = readCurveKey(given, "security.secretKey");
        keys = makeKeys((keys as CurveServerKeys).nacl);
      }
      return new CurveServer(keys as CurveServerKeys, context);
    },
  };
}

function curveClient(credentials: CurveCredentials): Security {
  const secretKey = readCurveKey(credentials.secretKey, "security.curve.secretKey");
  const serverKey = readCurveKey(credentials.serverKey, "security.curve.serverKey");
  const derived = curvePublicKey(secretKey);
  const publicKey = readCurveKey(credentials.publicKey ?? derived, "security.curve.publicKey");
  if (encodeZ85(publicKey) !== derived) {
    throw new TypeError("security.curve: the public key does not belong to the secret key");
  }
  let keys: CurveClientKeys | undefined;
  return {
    name: "CURVE",
    isServer: false,
    async load() {
      const nacl = await loadNacl();
      if (nacl.sharedKey(serverKey, secretKey) === undefined) {
        throw new TypeError("security.curve.serverKey is not a key that a server can have");
      }
      keys = { nacl, random: randomBytes, serverKey, publicKey, secretKey };
    },
    open: (context) => new CurveClient(keys as CurveClientKeys, context),
  };
}
