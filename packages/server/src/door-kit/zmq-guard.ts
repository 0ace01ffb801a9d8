// Who a ZeroMQ peer is, and what it may do. A peer's principal is the login that its handshake
// gave; the door asks for a right wherever its dialect submits or works.

import { readFileSync } from "node:fs";
import {
  type Authenticate,
  type ListenSecurity,
  type MechanismName,
  type Peer,
  type PeerMeter,
  secretKeyIn,
  tryLater,
} from "@yardmaster/zmtp";
import type { Access } from "../access/access.js";
import { LoginGuard } from "../access/login-guard.js";
import { Login, type Principal } from "../access/principal.js";
import type { Right } from "../access/rights.js";
import { StartFault } from "./door.js";

export interface ZmqSecuritySettings {
  readonly mechanisms: readonly MechanismName[];
  readonly serverKeyFile?: string | undefined;
}

/** A socket whose peers can be disconnected by principal. The simulator's sockets have no peers. */
interface Revocable {
  revoke?(isRevoked: (principal: unknown) => boolean): number;
}

export class ZmqGuard {
  readonly #door: string;
  readonly #access: Access | undefined;
  readonly #logins = new LoginGuard();
  readonly #nowMs: () => number;
  #secretKey: string | undefined;
  /** The option of every socket of the door. */
  readonly options: { readonly security?: ListenSecurity; readonly meter?: PeerMeter };

  /** Without `access` every peer may do all. Throws a StartFault if the key cannot be read. */
  constructor(
    door: string,
    access: Access | undefined,
    settings: ZmqSecuritySettings | undefined,
    nowMs: () => number,
  ) {
    this.#door = door;
    this.#access = access;
    this.#nowMs = nowMs;
    const { mechanisms = ["NULL"], serverKeyFile } = settings ?? {};
    this.#secretKey = serverKeyFile === undefined ? undefined : readKey(door, serverKeyFile);
    const secretKey = () => this.#secretKey as string;
    const authenticate: Authenticate = (shown, address) => this.#loginOf(shown, hostIn(address));
    this.options =
      access === undefined
        ? {}
        : {
            security: { mechanisms, authenticate, ...(this.#secretKey !== undefined && { secretKey }) },
            meter: new PrincipalMeter(),
          };
  }

  /**
   * Reads the server's key again, for handshakes from now on. Throws a StartFault if it cannot be
   * read, and then the old key stays.
   */
  reload(settings: ZmqSecuritySettings | undefined): void {
    const file = settings?.serverKeyFile;
    if (this.#secretKey !== undefined && file !== undefined) this.#secretKey = readKey(this.#door, file);
  }

  /** True if rights may differ between peers. */
  get isActive(): boolean {
    return this.#access?.isConfigured === true;
  }

  /**
   * Disconnects peers whose login is revoked by a reload, and those of principals that have lost
   * the right for which the socket exists.
   */
  watch(socket: Revocable, needs?: { readonly right: Right; readonly queue: string }): void {
    this.#access?.follow(() => {
      socket.revoke?.((login) => {
        if (!(login instanceof Login)) return false;
        if (login.isRevoked || !this.#isCurrent(login)) return true;
        return needs !== undefined && !login.principal.may(needs.right, needs.queue);
      });
    });
  }

  may({ principal: login }: Pick<Peer, "principal">, right: Right, queue: string): boolean {
    if (!(login instanceof Login)) return true;
    if (login.principal.may(right, queue)) return true;
    login.principal.denied += 1;
    return false;
  }

  /** Undefined for a door without `access`. */
  principalOf({ principal: login }: Pick<Peer, "principal">): Principal | undefined {
    return login instanceof Login ? login.principal : undefined;
  }

  /** Counts a submission. Returns for how many milliseconds the peer must not be read. */
  submitted(peer: Pick<Peer, "principal">): number {
    return this.principalOf(peer)?.noteSubmission(this.#nowMs()) ?? 0;
  }

  /** The name for the story of what the peer does. */
  by(peer: Pick<Peer, "principal">): string | undefined {
    return this.principalOf(peer)?.by;
  }

  #loginOf(shown: Parameters<Authenticate>[0], host: string): Login | typeof tryLater | undefined {
    const access = this.#access as Access;
    if (shown.mechanism === "NULL") return access.anonymousAt(this.#door);
    // A key cannot be guessed, so there is nothing to slow down.
    if (shown.mechanism === "CURVE") return access.byCurveKey(shown.publicKey);
    const login = access.byPassword(shown.username, shown.password);
    const verdict = this.#logins.judge(host, login, this.#nowMs());
    // A refusal would end a libzmq peer with the right password for good, because another peer of
    // its host guesses.
    if (verdict === "slowed") return tryLater;
    return verdict === "in" ? login : undefined;
  }

  /** An anonymous login ends when its door asks for credentials or names another principal. */
  #isCurrent(login: Login): boolean {
    return login.kind !== "anonymous" || this.#access?.anonymousAt(this.#door) === login;
  }
}

/** Applies the quotas of connections and of bytes in transit. */
class PrincipalMeter implements PeerMeter {
  /** Bytes of unfinished messages, by peer. Most peers have none. */
  readonly #held = new Map<Peer, number>();

  joins({ principal: login }: Peer): boolean {
    return !(login instanceof Login) || login.principal.quotas.openConnection();
  }

  holds(peer: Peer, bytes: number): boolean {
    if (!(peer.principal instanceof Login)) return true;
    const more = bytes - (this.#held.get(peer) ?? 0);
    if (bytes === 0) this.#held.delete(peer);
    else this.#held.set(peer, bytes);
    return peer.principal.principal.quotas.addBytes(more, bytes);
  }

  left(peer: Peer): void {
    this.holds(peer, 0);
    if (peer.principal instanceof Login) peer.principal.principal.quotas.closeConnection();
  }
}

function readKey(door: string, file: string): string {
  try {
    return secretKeyIn(readFileSync(file, "utf8"));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new StartFault(
      `door ${door}: security.serverKeyFile: ${code === undefined ? `${file}: ${message}` : `${file} cannot be read (${code})`}`,
      { cause },
    );
  }
}

/** `tcp://1.2.3.4:5` without the port. */
function hostIn(address: string): string {
  return address.replace(/^tcp:\/\/\[?(.*?)\]?:\d+$/, "$1");
}
