// Who may come in, and as which principal. Doors look up a login by what a peer shows, keep it with
// the connection, and ask its principal for rights. A reload keeps logins whose credential is still
// configured and marks the others as revoked.

import { timingSafeEqual } from "node:crypto";
import { ConfigFault } from "../config/config-fault.js";
import { type CredentialKind, implicitPrincipal, Login, Principal } from "./principal.js";
import { QueueRights, rightNames } from "./rights.js";
import { DigestIndex, digestOf, passwordForm, type SecretSources, sha256, tokenForm } from "./secrets.js";
import type { AccessSettings, PrincipalSettings } from "./settings.js";

/** What Access needs to know of a door. */
export interface DoorAccess {
  /** The principal of peers that show no credential. */
  readonly anonymous?: string | undefined;
  /** A token that every peer must show: the setting from before `access:`. */
  readonly token?: string | undefined;
}

export interface AccessOptions extends SecretSources {
  /** Absent: every peer may do everything, unless its door has a token. */
  readonly settings: AccessSettings | undefined;
  readonly doors: Readonly<Record<string, DoorAccess | false>>;
}

/** A certificate that TLS has verified. */
export interface ShownCertificate {
  readonly commonName?: string | undefined;
  /** SHA-256 of the certificate, as hex digits with or without colons. */
  readonly fingerprint: string;
}

/** What a reload changed, by principal. */
export interface AccessChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Principals with a credential that is no longer valid, the removed ones included. */
  readonly revoked: readonly string[];
}

/** The principal of doors.http.token. */
export const tokenPrincipal = "http-token";

interface User {
  readonly digest: Buffer;
  readonly login: Login | undefined;
}

/** Compared with when the user does not exist, so that the answer takes the same time. */
const nobody: readonly User[] = [{ digest: sha256(""), login: undefined }];

export class Access {
  #isConfigured = false;
  #principals: ReadonlyMap<string, Principal> = new Map();
  /** Every login by what proves it. */
  #logins: ReadonlyMap<string, Login> = new Map();
  #tokens = new DigestIndex<Login>();
  #users = new Map<string, User[]>();
  /** The login of every peer while there is no `access:`. */
  readonly #implicit = new Login(implicitPrincipal(), "anonymous");
  /** Doors that ask for a token although there is no `access:`. */
  #guarded: ReadonlySet<string> = new Set();
  readonly #listeners = new Set<() => void>();
  #warnings: readonly string[] = [];

  /** Throws a ConfigFault if a secret cannot be read. */
  constructor(options: AccessOptions) {
    this.reload(options);
  }

  /** Every peer may do everything: for tests, and for a yard inside another program. */
  static open(): Access {
    return new Access({ settings: undefined, doors: {} });
  }

  /** True if the configuration has `access:`. */
  get isConfigured(): boolean {
    return this.#isConfigured;
  }

  /** Probable mistakes in the configuration, for the log. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  principals(): Iterable<Principal> {
    return this.#principals.values();
  }

  byToken(token: string): Login | undefined {
    return this.#tokens.get(sha256(token));
  }

  byPassword(user: string, password: string | Uint8Array): Login | undefined {
    const given = sha256(password);
    let found: Login | undefined;
    for (const { digest, login } of this.#users.get(user) ?? nobody)
      if (timingSafeEqual(digest, given)) found = login;
    return found;
  }

  /** By a public key in Z85 whose owner has proved that it has the secret key. */
  byCurveKey(publicKey: string): Login | undefined {
    return this.#logins.get(`curve ${publicKey}`);
  }

  /** A fingerprint is more exact than a name, and takes precedence. */
  byCertificate({ commonName, fingerprint }: ShownCertificate): Login | undefined {
    return (
      this.#logins.get(fingerprintKey(fingerprint)) ??
      (commonName === undefined ? undefined : this.#logins.get(`name ${commonName}`))
    );
  }

  /** The login of a peer without a credential; undefined if this door requires one. */
  anonymousAt(door: string): Login | undefined {
    return this.#logins.get(anonymousKey(door)) ?? (this.#isOpen(door) ? this.#implicit : undefined);
  }

  #isOpen(door: string): boolean {
    return !this.#isConfigured && !this.#guarded.has(door);
  }

  /** Called after each reload: a door then closes connections whose login is revoked. */
  follow(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Throws a ConfigFault, and then nothing has changed. */
  reload(options: AccessOptions): AccessChange {
    const book = new LoginBook(options, this.#principals, this.#logins);
    const revoked = [...this.#logins].filter(([key, login]) => book.logins.get(key) !== login);
    for (const [, login] of revoked) login.isRevoked = true;
    const change: AccessChange = {
      added: [...book.principals.keys()].filter((name) => !this.#principals.has(name)),
      removed: [...this.#principals.keys()].filter((name) => !book.principals.has(name)),
      revoked: [...new Set(revoked.map(([, { principal }]) => principal.name))],
    };
    book.applyChanges();
    this.#isConfigured = options.settings !== undefined;
    this.#guarded = book.guarded;
    this.#principals = book.principals;
    this.#logins = book.logins;
    this.#tokens = book.tokens;
    this.#users = book.users;
    this.#warnings = book.warnings();
    for (const listener of this.#listeners) listener();
    return change;
  }
}

function anonymousKey(door: string): string {
  return `anonymous ${door}`;
}

function fingerprintKey(fingerprint: string): string {
  return `fingerprint ${fingerprint.replaceAll(":", "").toLowerCase()}`;
}

/** All logins of one configuration. Principals and logins that were there before are kept. */
class LoginBook {
  readonly principals = new Map<string, Principal>();
  readonly logins = new Map<string, Login>();
  readonly tokens = new DigestIndex<Login>();
  readonly users = new Map<string, User[]>();
  readonly guarded = new Set<string>();
  readonly #options: AccessOptions;
  readonly #known: ReadonlyMap<string, Principal>;
  readonly #before: ReadonlyMap<string, Login>;
  readonly #changes: (() => void)[] = [];

  constructor(
    options: AccessOptions,
    known: ReadonlyMap<string, Principal>,
    before: ReadonlyMap<string, Login>,
  ) {
    this.#options = options;
    this.#known = known;
    this.#before = before;
    const { settings, doors } = options;
    for (const [name, each] of Object.entries(settings?.principals ?? {})) this.#add(name, each);
    for (const [door, given] of Object.entries(doors)) if (given !== false) this.#addDoor(door, given);
  }

  /** Rights and quotas of principals that stay. Not before everything has been read. */
  applyChanges(): void {
    for (const change of this.#changes) change();
  }

  #add(name: string, given: PrincipalSettings): void {
    // Worker names of doors.http.token have no prefix, so this principal could act for any worker.
    if (name === tokenPrincipal)
      throw new ConfigFault([
        `access.principals.${name}: this is the name of doors.http.token; take another`,
      ]);
    const principal = this.#principal(name, new QueueRights(given.rights), given.quotas);
    const where = `access.principals.${name}`;
    for (const [at, secret] of given.tokens.entries())
      this.#addToken(digestOf(secret, `${where}.tokens.${at}`, tokenForm, this.#options), principal);
    for (const [at, secret] of given.passwords.entries()) {
      const digest = digestOf(secret, `${where}.passwords.${at}`, passwordForm, this.#options);
      this.#addPassword(given.user ?? name, digest, principal);
    }
    for (const key of given.curveKeys) this.#login(`curve ${key}`, principal, "curve");
    for (const { commonName, fingerprint } of given.certificates) {
      const key = fingerprint === undefined ? `name ${commonName}` : fingerprintKey(fingerprint);
      this.#login(key, principal, "certificate");
    }
  }

  #principal(name: string, rights: QueueRights, quotas: PrincipalSettings["quotas"]): Principal {
    const known = this.#known.get(name);
    const principal = known ?? new Principal({ name, rights, quotas });
    if (known !== undefined) this.#changes.push(() => known.change(rights, quotas));
    this.principals.set(name, principal);
    return principal;
  }

  #addToken(digest: Buffer, principal: Principal): void {
    this.tokens.set(digest, this.#login(`token ${digest.toString("hex")}`, principal, "token"));
  }

  #addPassword(user: string, digest: Buffer, principal: Principal): void {
    const key = `password ${digest.toString("hex")} ${user}`;
    const list = this.users.get(user) ?? [];
    list.push({ digest, login: this.#login(key, principal, "password") });
    this.users.set(user, list);
  }

  #addDoor(door: string, { anonymous, token }: DoorAccess): void {
    if (token !== undefined) {
      this.guarded.add(door);
      this.#addToken(sha256(token), this.#principal(tokenPrincipal, QueueRights.all, {}));
    }
    if (anonymous === undefined) return;
    const principal = this.principals.get(anonymous);
    if (principal === undefined)
      throw new ConfigFault([`doors.${door}.anonymous: there is no principal ${anonymous}`]);
    this.#login(anonymousKey(door), principal, "anonymous");
  }

  /** Two principals with the same credential would make it unclear who came in. */
  #login(key: string, principal: Principal, kind: CredentialKind): Login {
    const twin = this.logins.get(key);
    if (twin !== undefined && twin.principal !== principal) {
      throw new ConfigFault([
        `access.principals: ${twin.principal.name} and ${principal.name} have the same ${kind}`,
      ]);
    }
    const known = this.#before.get(key);
    const login = known?.principal === principal ? known : new Login(principal, kind);
    this.logins.set(key, login);
    return login;
  }

  warnings(): string[] {
    const { settings, doors } = this.#options;
    const found: string[] = [];
    const reachable = new Set([...this.logins.values()].map(({ principal }) => principal));
    for (const [name, principal] of this.principals) {
      if (!reachable.has(principal))
        found.push(`the principal ${name} has no credential, and no door names it as anonymous`);
      if (!rightNames.some((right) => principal.rights.mayForSome(right)))
        found.push(`the principal ${name} has no rights`);
    }
    if (settings !== undefined && reachable.size === 0)
      found.push("access: locks everybody out: no principal has a credential, and no door has anonymous");
    else if (settings !== undefined && ![...reachable].some(({ rights }) => rights.mayForSome("operate")))
      found.push("no principal that can come in has the right to operate");
    for (const [door, given] of Object.entries(doors))
      if (given !== false && given.token !== undefined)
        found.push(
          `doors.${door}.token has all rights; a principal under access: can have fewer, see yardmaster token new`,
        );
    return found;
  }
}
