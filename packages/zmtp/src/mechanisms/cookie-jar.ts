// A CURVE server's memory of a connection between HELLO and INITIATE: it is in the cookie, which
// only the server can open and the client sends back [26/CURVEZMQ, WELCOME]. What stays here for
// each connection is a number, so that a cookie is accepted once and on its own connection.
//
// A cookie contains the secret key of the connection. If its own key lived long, a thief of that
// key could decrypt recorded traffic. So a cookie key is erased when no handshake needs it any
// more, and it is used for a limited number of cookies.

import { keyBytes, type Nacl, nonceBytes } from "../crypto/nacl.js";

/** Random bytes that nobody can predict. */
export type Random = (bytes: number) => Buffer;

const noncePrefix = Buffer.from("COOKIE--");
const cookieNonceBytes = nonceBytes - noncePrefix.length;
/**
 * The maximum number of cookies of one key. A burst of connections shares a key, and a steady
 * stream changes it often.
 */
const cookiesPerKey = 256;

interface CookieKey {
  readonly bytes: Buffer;
  baked: number;
  /** Cookies that may still come back. */
  open: number;
}

export interface Ticket {
  readonly key: CookieKey;
  readonly number: number;
}

export interface Cookie {
  readonly clientKey: Buffer;
  readonly secretKey: Buffer;
}

export class CookieJar {
  private readonly nacl: Nacl;
  private readonly random: Random;
  private current: CookieKey | undefined;

  constructor(nacl: Nacl, random: Random) {
    this.nacl = nacl;
    this.random = random;
  }

  bake({ clientKey, secretKey }: Cookie): { cookie: Buffer; ticket: Ticket } {
    if (this.current === undefined || this.current.baked === cookiesPerKey) {
      this.current = { bytes: this.random(keyBytes), baked: 0, open: 0 };
    }
    const key = this.current;
    const ticket = { key, number: key.baked++ };
    key.open++;
    const nonce = this.random(cookieNonceBytes);
    nonce.writeUInt32BE(ticket.number, 0);
    const content = Buffer.concat([clientKey, secretKey]);
    const box = this.nacl.seal(key.bytes, Buffer.concat([noncePrefix, nonce]), content);
    content.fill(0);
    return { cookie: Buffer.concat([nonce, box]), ticket };
  }

  /** Opens the cookie that the ticket belongs to; undefined for any other. */
  open({ key, number }: Ticket, cookie: Buffer): Cookie | undefined {
    if (cookie.readUInt32BE(0) !== number) return undefined;
    const nonce = Buffer.concat([noncePrefix, cookie.subarray(0, cookieNonceBytes)]);
    const content = this.nacl.open(key.bytes, nonce, cookie.subarray(cookieNonceBytes));
    if (content === undefined) return undefined;
    return { clientKey: content.subarray(0, keyBytes), secretKey: content.subarray(keyBytes) };
  }

  /** The cookie came back, or its connection is gone. Call it once for each ticket. */
  discard({ key }: Ticket): void {
    key.open--;
    if (key.open > 0) return;
    key.bytes.fill(0);
    if (this.current === key) this.current = undefined;
  }
}
