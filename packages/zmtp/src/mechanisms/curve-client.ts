// CURVE, the client's end [26/CURVEZMQ]; `curve-server.ts` has the picture.

import { type Command, encodeCommand } from "../commands.js";
import { keyBytes, type Nacl } from "../crypto/nacl.js";
import { decodeMetadata } from "../metadata.js";
import type { Random } from "./cookie-jar.js";
import { CurveSeal } from "./curve-seal.js";
import {
  boxNonce,
  helloBytes,
  helloKeyAt,
  longNonceBytes,
  readyBytesMin,
  shortNonce,
  shortNonceBytes,
  welcomeBytes,
} from "./curve-wire.js";
import { failed, unexpected } from "./handshake.js";
import type { Mechanism, MechanismContext, MechanismStep } from "./mechanism.js";

const nothing: readonly Buffer[] = [];
/** The numbers of our two commands. Traffic goes on from there. */
const helloNumber = 1;
const initiateNumber = 2;

/** What all connections of a client share. */
export interface CurveClientKeys {
  readonly nacl: Nacl;
  readonly random: Random;
  readonly serverKey: Buffer;
  readonly publicKey: Buffer;
  readonly secretKey: Buffer;
}

export class CurveClient implements Mechanism {
  seal?: CurveSeal;
  private readonly keys: CurveClientKeys;
  private readonly context: MechanismContext;
  /** c', the secret key of this connection. */
  private readonly ownSecret: Buffer;
  private readonly ownPublic: Buffer;
  /** The key of the connection: set by WELCOME. */
  private key: Buffer | undefined;

  constructor(keys: CurveClientKeys, context: MechanismContext) {
    this.keys = keys;
    this.context = context;
    this.ownSecret = keys.random(keyBytes);
    this.ownPublic = keys.nacl.publicKeyOf(this.ownSecret);
  }

  start(): readonly Buffer[] {
    const { nacl } = this.keys;
    const number = shortNonce(helloNumber);
    const key = this.serverBoxKey();
    const box = nacl.seal(key, boxNonce("CurveZMQHELLO---", number), Buffer.alloc(64));
    key.fill(0);
    const version = Buffer.alloc(helloKeyAt);
    version[0] = 1;
    const hello = Buffer.concat([version, this.ownPublic, number, box], helloBytes);
    return [encodeCommand("HELLO", hello)];
  }

  receive({ name, data }: Command): MechanismStep {
    if (name !== (this.key === undefined ? "WELCOME" : "READY")) return unexpected(name);
    return this.key === undefined ? this.readWelcome(data) : this.readReady(data, this.key);
  }

  wipe(): void {
    this.ownSecret.fill(0);
    this.key?.fill(0);
  }

  private readWelcome(data: Buffer): MechanismStep {
    if (data.length !== welcomeBytes) return failed("bad_handshake");
    const { nacl } = this.keys;
    const nonce = boxNonce("WELCOME-", data.subarray(0, longNonceBytes));
    const serverKey = this.serverBoxKey();
    const content = nacl.open(serverKey, nonce, data.subarray(longNonceBytes));
    serverKey.fill(0);
    if (content === undefined) return failed("bad_handshake");
    const theirKey = content.subarray(0, keyBytes);
    this.key = nacl.sharedKey(theirKey, this.ownSecret);
    const vouch = this.vouch(theirKey);
    if (this.key === undefined || vouch === undefined) return failed("bad_handshake");
    const cookie = content.subarray(keyBytes);
    const number = shortNonce(initiateNumber);
    const clear = Buffer.concat([this.keys.publicKey, vouch, this.context.metadata]);
    const box = nacl.seal(this.key, boxNonce("CurveZMQINITIATE", number), clear);
    return { kind: "wait", send: [encodeCommand("INITIATE", Buffer.concat([cookie, number, box]))] };
  }

  private readReady(data: Buffer, key: Buffer): MechanismStep {
    if (data.length < readyBytesMin) return failed("bad_handshake");
    const { nacl } = this.keys;
    const number = data.subarray(0, shortNonceBytes);
    const content = nacl.open(key, boxNonce("CurveZMQREADY---", number), data.subarray(shortNonceBytes));
    if (content === undefined) return failed("bad_handshake");
    const metadata = decodeMetadata(content);
    if (metadata === undefined) return failed("bad_metadata");
    this.seal = new CurveSeal(nacl, {
      key,
      isServer: false,
      lastSent: initiateNumber,
      lastReceived: number,
    });
    return { kind: "done", send: nothing, metadata };
  }

  /** Says under our long-term key that C' is ours, and that it is meant for this server. */
  private vouch(theirKey: Buffer): Buffer | undefined {
    const { nacl, random, secretKey, serverKey } = this.keys;
    const key = nacl.sharedKey(theirKey, secretKey);
    if (key === undefined) return undefined;
    const nonce = random(longNonceBytes);
    const box = nacl.seal(key, boxNonce("VOUCH---", nonce), Buffer.concat([this.ownPublic, serverKey]));
    key.fill(0);
    return Buffer.concat([nonce, box]);
  }

  /** The caller's settings are checked, so this key exists. */
  private serverBoxKey(): Buffer {
    const key = this.keys.nacl.sharedKey(this.keys.serverKey, this.ownSecret);
    if (key === undefined) throw new Error("the server's key is not usable");
    return key;
  }
}
