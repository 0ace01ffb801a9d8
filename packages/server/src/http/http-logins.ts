// Who sends a request. A connection's credential is looked up once and kept for the requests that
// follow with the same one. When a login is revoked, its connections are closed.

import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { FastifyRequest } from "fastify";
import type { Access } from "../access/access.js";
import { LoginGuard } from "../access/login-guard.js";
import type { Login } from "../access/principal.js";
import { Problem } from "./problems.js";

const door = "http";

interface SocketLogin {
  authorization: string | undefined;
  login: Login;
}

export class HttpLogins {
  readonly guard = new LoginGuard();
  readonly #access: Access;
  readonly #nowMs: () => number;
  readonly #sockets = new Map<Socket, SocketLogin>();
  readonly #unfollow: () => void;

  constructor(access: Access, nowMs: () => number) {
    this.#access = access;
    this.#nowMs = nowMs;
    this.#unfollow = access.follow(() => this.#closeRevoked());
  }

  /** Connections with a login. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** The login of a request, or the problem with its credential. */
  of(request: FastifyRequest): Login | Problem {
    const { socket } = request.raw;
    const { authorization } = request.headers;
    const known = this.#sockets.get(socket);
    if (known !== undefined && known.authorization === authorization && !known.login.isRevoked)
      return known.login;
    const login = this.#find(socket, authorization, request.ip);
    return login instanceof Problem ? login : this.#keep(socket, authorization, login, known);
  }

  close(): void {
    this.#unfollow();
  }

  #find(socket: Socket, authorization: string | undefined, ip: string): Login | Problem {
    const anonymous = this.#access.anonymousAt(door);
    // Without `access:` no credential is needed, and a token that a client sends is ignored.
    if (anonymous !== undefined && anonymous.principal.by === undefined) return anonymous;
    if (authorization !== undefined) return this.#byToken(authorization, ip);
    const certificate = certificateOf(socket);
    if (certificate === undefined) return anonymous ?? unauthorized("send Authorization: Bearer and a token");
    if ("fault" in certificate)
      return unauthorized(`the client certificate is not accepted: ${certificate.fault}`);
    const login = this.#access.byCertificate(certificate);
    return login ?? anonymous ?? unauthorized("the client certificate belongs to no principal");
  }

  #byToken(authorization: string, ip: string): Login | Problem {
    const [, token] = /^Bearer +(\S{1,1024})$/i.exec(authorization) ?? [];
    const login = token === undefined ? undefined : this.#access.byToken(token);
    switch (this.guard.judge(ip, login, this.#nowMs())) {
      case "in":
        return login as Login;
      case "wrong":
        return unauthorized("the token is not known");
      case "slowed": {
        const retryMs = this.guard.waitMs(ip);
        return new Problem("too_many_logins", "too many failed logins from this address", { retryMs });
      }
    }
  }

  #keep(
    socket: Socket,
    authorization: string | undefined,
    login: Login,
    known: SocketLogin | undefined,
  ): Login | Problem {
    if (known?.login.principal !== login.principal && !login.principal.quotas.openConnection())
      return new Problem("quota_reached", `${login.principal.name} has too many connections`);
    if (known !== undefined) {
      if (known.login.principal !== login.principal) known.login.principal.quotas.closeConnection();
      known.authorization = authorization;
      known.login = login;
      return login;
    }
    this.#sockets.set(socket, { authorization, login });
    socket.once("close", () => {
      const last = this.#sockets.get(socket);
      this.#sockets.delete(socket);
      last?.login.principal.quotas.closeConnection();
    });
    return login;
  }

  #closeRevoked(): void {
    for (const [socket, { login }] of this.#sockets) if (login.isRevoked) socket.destroy();
  }
}

function unauthorized(why: string): Problem {
  return new Problem("unauthorized", `this dispatcher requires a credential: ${why}`);
}

type Certificate =
  | { readonly fault: string }
  | { readonly commonName: string | undefined; readonly fingerprint: string };

/** The certificate that the client showed; undefined if it showed none. */
function certificateOf(socket: Socket): Certificate | undefined {
  const { authorized, authorizationError, getPeerCertificate } = socket as Partial<TLSSocket>;
  if (getPeerCertificate === undefined) return undefined;
  const { subject, fingerprint256 } = getPeerCertificate.call(socket);
  if (fingerprint256 === undefined) return undefined;
  if (authorized !== true) return { fault: String(authorizationError) };
  const { CN } = subject;
  return { commonName: typeof CN === "string" ? CN : undefined, fingerprint: fingerprint256 };
}
