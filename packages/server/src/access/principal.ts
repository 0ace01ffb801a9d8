// A principal: a name, what it may do, and what it may use. The object stays the same while the
// configuration has the name, so a connection that holds it sees changed rights at once. A login is
// one way in: a principal with the credential that proved it.

import { type QuotaLimits, Quotas } from "./quotas.js";
import { QueueRights, type Right } from "./rights.js";

export interface PrincipalOptions {
  readonly name: string;
  readonly rights: QueueRights;
  readonly quotas?: QuotaLimits | undefined;
  /** True for the implicit principal of a yard without `access:`. */
  readonly isImplicit?: boolean;
}

export class Principal {
  readonly name: string;
  /**
   * The name to record with what it does. Undefined for the implicit principal, so that a yard
   * without `access:` records nothing more than before.
   */
  readonly by: string | undefined;
  #rights: QueueRights;
  readonly quotas: Quotas;
  /** Grows when its rights change. */
  revision = 0;
  /** Tasks that it submitted, and requests that were refused for want of a right. */
  submitted = 0;
  denied = 0;

  constructor({ name, rights, quotas = {}, isImplicit = false }: PrincipalOptions) {
    this.name = name;
    this.by = isImplicit ? undefined : name;
    this.#rights = rights;
    this.quotas = new Quotas(quotas);
  }

  get rights(): QueueRights {
    return this.#rights;
  }

  may(right: Right, queue: string): boolean {
    return this.#rights.may(right, queue);
  }

  /** Counts a task that it submits. Returns for how many milliseconds it has to pause. */
  noteSubmission(nowMs: number): number {
    this.submitted += 1;
    return this.quotas.paceSubmission(nowMs);
  }

  change(rights: QueueRights, quotas: QuotaLimits): void {
    this.#rights = rights;
    this.revision += 1;
    this.quotas.change(quotas);
  }
}

export type CredentialKind = "token" | "password" | "curve" | "certificate" | "anonymous";

/** Held by each connection that came in with it. */
export class Login {
  readonly principal: Principal;
  readonly kind: CredentialKind;
  /**
   * True once the credential or the principal is no longer configured. Its connections must close.
   */
  isRevoked = false;

  constructor(principal: Principal, kind: CredentialKind) {
    this.principal = principal;
    this.kind = kind;
  }
}

/** The principal of every peer while there is no `access:`. */
export function implicitPrincipal(): Principal {
  return new Principal({ name: "anonymous", rights: QueueRights.all, isImplicit: true });
}
