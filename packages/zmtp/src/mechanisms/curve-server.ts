// CURVE, the server's end: it proves that it owns the key the client knows, and learns which key
// the client owns [26/CURVEZMQ]. Primes mark the keys of one connection: C' and S' are public.
//
//   client: HELLO C', box               server: WELCOME box with S' and the cookie
//   client: INITIATE cookie, box with   server: READY box with our metadata
//           C, a vouch for C', metadata
//
// A handshake that fails is closed without an answer: an answer would help only an attacker.

import { timingSafeEqual } from "node:crypto";
import { type Command, encodeCommand } from "../commands.js";
import { keyBytes, type Nacl } from "../crypto/nacl.js";
import { decodeMetadata } from "../metadata.js";
import { encodeZ85 } from "../z85.js";
import { type Cookie, CookieJar, type Random, type Ticket } from "./cookie-jar.js";
import { CurveSeal } from "./curve-seal.js";
import {
  boxNonce,
  cookieBytes,
  helloBytes,
  helloKeyAt,
  initiateBytesMin,
  longNonceBytes,
  shortNonce,
  shortNonceBytes,
  vouchedBytes,
} from "./curve-wire.js";
import { type Authenticate, failed, unexpected } from "./handshake.js";
import type { Mechanism, MechanismContext, MechanismStep } from "./mechanism.js";

const nothing: readonly Buffer[] = [];

/** What all connections of a server share. */
export interface CurveServerKeys {
  readonly nacl: Nacl;
  readonly random: Random;
  readonly secretKey: Buffer;
  readonly publicKey: Buffer;
  readonly cookies: CookieJar;
  readonly authenticate: Authenticate;
}

export function curveServerKeys(
  nacl: Nacl,
  { random, secretKey, authenticate }: Pick<CurveServerKeys, "random" | "secretKey" | "authenticate">,
): CurveServerKeys {
  const publicKey = nacl.publicKeyOf(secretKey);
  return { nacl, random, secretKey, publicKey, cookies: new CookieJar(nacl, random), authenticate };
}

export class CurveServer implements Mechanism {
  seal?: CurveSeal;
  private readonly keys: CurveServerKeys;
  private readonly context: MechanismContext;
  /** Set between HELLO and INITIATE. */
  private ticket: Ticket | undefined;

  constructor(keys: CurveServerKeys, context: MechanismContext) {
    this.keys = keys;
    this.context = context;
  }

  start(): readonly Buffer[] {
    return nothing;
  }

  receive({ name, data }: Command): MechanismStep {
    if (name !== (this.ticket === undefined ? "HELLO" : "INITIATE")) return unexpected(name);
    return name === "HELLO" ? this.readHello(data) : this.readInitiate(data);
  }

  wipe(): void {
    if (this.ticket !== undefined) this.keys.cookies.discard(this.ticket);
    this.ticket = undefined;
  }

  private readHello(data: Buffer): MechanismStep {
    if (data.length !== helloBytes || data[0] !== 1 || data[1] !== 0) return failed("bad_handshake");
    const { nacl, secretKey } = this.keys;
    const nonceAt = helloKeyAt + keyBytes;
    const boxAt = nonceAt + shortNonceBytes;
    const clientKey = data.subarray(helloKeyAt, nonceAt);
    const key = nacl.sharedKey(clientKey, secretKey);
    if (key === undefined) return failed("bad_handshake");
    const nonce = boxNonce("CurveZMQHELLO---", data.subarray(nonceAt, boxAt));
    const isSigned = nacl.open(key, nonce, data.subarray(boxAt)) !== undefined;
    const step = isSigned ? this.welcome(clientKey, key) : failed("bad_handshake");
    key.fill(0);
    return step;
  }

  private welcome(clientKey: Buffer, key: Buffer): MechanismStep {
    const { nacl, random } = this.keys;
    const ownSecret = random(keyBytes);
    const { cookie, ticket } = this.keys.cookies.bake({ clientKey, secretKey: ownSecret });
    this.ticket = ticket;
    const welcomeNonce = random(longNonceBytes);
    const content = Buffer.concat([nacl.publicKeyOf(ownSecret), cookie]);
    const box = nacl.seal(key, boxNonce("WELCOME-", welcomeNonce), content);
    ownSecret.fill(0);
    return { kind: "wait", send: [encodeCommand("WELCOME", Buffer.concat([welcomeNonce, box]))] };
  }

  private readInitiate(data: Buffer): MechanismStep {
    if (data.length < initiateBytesMin) return failed("bad_handshake");
    const cookie = this.keys.cookies.open(this.ticket as Ticket, data.subarray(0, cookieBytes));
    this.wipe();
    if (cookie === undefined) return failed("bad_handshake");
    const key = this.keys.nacl.sharedKey(cookie.clientKey, cookie.secretKey);
    const step = key === undefined ? failed("bad_handshake") : this.readBox(data, cookie, key);
    cookie.secretKey.fill(0);
    key?.fill(0);
    return step;
  }

  private readBox(data: Buffer, cookie: Cookie, key: Buffer): MechanismStep {
    const { nacl, authenticate } = this.keys;
    const number = data.subarray(cookieBytes, cookieBytes + shortNonceBytes);
    const box = data.subarray(cookieBytes + shortNonceBytes);
    const content = nacl.open(key, boxNonce("CurveZMQINITIATE", number), box);
    if (content === undefined) return failed("bad_handshake");
    const clientKey = content.subarray(0, keyBytes);
    if (!this.isVouched(clientKey, content.subarray(keyBytes, vouchedBytes), cookie)) {
      return failed("bad_handshake");
    }
    const metadata = decodeMetadata(content.subarray(vouchedBytes));
    if (metadata === undefined) return failed("bad_metadata");
    const credentials = { mechanism: "CURVE", publicKey: encodeZ85(clientKey) } as const;
    const principal = authenticate(credentials, this.context.address);
    if (principal === undefined) return failed("denied");
    this.seal = new CurveSeal(nacl, { key, isServer: true, lastSent: 1, lastReceived: number });
    return { kind: "done", send: [this.ready(key)], metadata, principal };
  }

  /** The vouch says, under the client's long-term key C, that C' is its key for this server. */
  private isVouched(clientKey: Buffer, vouch: Buffer, cookie: Cookie): boolean {
    const { nacl, publicKey } = this.keys;
    const key = nacl.sharedKey(clientKey, cookie.secretKey);
    if (key === undefined) return false;
    const nonce = boxNonce("VOUCH---", vouch.subarray(0, longNonceBytes));
    const content = nacl.open(key, nonce, vouch.subarray(longNonceBytes));
    key.fill(0);
    return content !== undefined && timingSafeEqual(content, Buffer.concat([cookie.clientKey, publicKey]));
  }

  private ready(key: Buffer): Buffer {
    const number = shortNonce(1);
    const box = this.keys.nacl.seal(key, boxNonce("CurveZMQREADY---", number), this.context.metadata);
    return encodeCommand("READY", Buffer.concat([number, box]));
  }
}
