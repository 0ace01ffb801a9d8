// For tests: both ends of a CURVE handshake without a connection, with randomness that repeats.

import { createHash } from "node:crypto";
import { decodeCommand } from "../commands.js";
import { loadNacl, type Nacl } from "../crypto/nacl.js";
import { readCurveKey } from "../curve-keys.js";
import type { Random } from "../mechanisms/cookie-jar.js";
import { CurveClient, type CurveClientKeys } from "../mechanisms/curve-client.js";
import { CurveServer, type CurveServerKeys, curveServerKeys } from "../mechanisms/curve-server.js";
import type { Authenticate } from "../mechanisms/handshake.js";
import type { Mechanism, MechanismContext, MechanismStep } from "../mechanisms/mechanism.js";
import { encodeMetadata } from "../metadata.js";

// From the manual page zmq_curve(7).
export const serverPair = {
  publicKey: "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
  secretKey: "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6",
};
export const clientPair = {
  publicKey: "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
  secretKey: "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs",
};

/** The same bytes for the same seed. */
export function repeatable(seed: string): Random {
  let count = 0;
  return (bytes) => {
    const parts: Buffer[] = [];
    for (let have = 0; have < bytes; have += 32)
      parts.push(createHash("sha256").update(`${seed} ${count++}`).digest());
    return Buffer.from(Buffer.concat(parts).subarray(0, bytes));
  };
}

export class CurveWorld {
  readonly nacl: Nacl;
  readonly serverKeys: CurveServerKeys;
  readonly clientKeys: CurveClientKeys;

  private constructor(nacl: Nacl, authenticate: Authenticate) {
    this.nacl = nacl;
    const secretKey = readCurveKey(serverPair.secretKey, "server");
    this.serverKeys = curveServerKeys(nacl, { random: repeatable("server"), secretKey, authenticate });
    this.clientKeys = {
      nacl,
      random: repeatable("client"),
      serverKey: readCurveKey(serverPair.publicKey, "server"),
      publicKey: readCurveKey(clientPair.publicKey, "client"),
      secretKey: readCurveKey(clientPair.secretKey, "client"),
    };
  }

  static async create(authenticate: Authenticate = ({ mechanism }) => mechanism): Promise<CurveWorld> {
    return new CurveWorld(await loadNacl(), authenticate);
  }

  server(): CurveServer {
    return new CurveServer(this.serverKeys, contextOf("ROUTER", "tcp://10.0.0.1:1"));
  }

  client(other: Partial<CurveClientKeys> = {}): CurveClient {
    return new CurveClient({ ...this.clientKeys, ...other }, contextOf("DEALER", "tcp://10.0.0.2:2"));
  }
}

export function contextOf(socketType: string, address: string): MechanismContext {
  return { metadata: encodeMetadata([["Socket-Type", Buffer.from(socketType)]]), isBound: true, address };
}

/** Passes the body of a command to a mechanism. */
export function give(mechanism: Mechanism, body: Buffer): MechanismStep {
  const command = decodeCommand(Buffer.from(body));
  if (command === undefined) return { kind: "fault", fault: "bad_command", send: [] };
  return mechanism.receive(command);
}

/** The one command that a step sends. */
export function sent(step: MechanismStep): Buffer {
  if (step.send.length !== 1) throw new Error(`${step.kind} with ${step.send.length} commands`);
  return step.send[0] as Buffer;
}
