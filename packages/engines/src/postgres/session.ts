// One connection to the primary server. It is made when it is first needed, every call on it has a
// time limit, and after any doubt it is dropped, so that the next call looks for the primary again.

import { StoreFault } from "../embedded/store-faults.js";
import { type Clock, pause, systemClock } from "./clock.js";
import { type Connect, connectByPg, type Link } from "./pg-link.js";

/** What an engine needs of the world around it. */
export interface Platform {
  readonly clock: Clock;
  readonly connect: Connect;
}

export const systemPlatform: Platform = { clock: systemClock, connect: connectByPg };

export interface SessionOptions {
  /** May name several servers, separated by commas; the one that accepts writes is used. */
  readonly url: string;
  /** The servers, the last primary first. Sessions that share it move to a new one together. */
  readonly urls?: string[];
  readonly schema: string;
  /** The application_name of its connections, by which a new owner finds and ends them. */
  readonly instance: string;
  /** SQL that is run on each new connection. */
  readonly settings: string;
  readonly platform?: Platform | undefined;
}

/** It cannot be said whether a call had an effect. The call can be repeated. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

export interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly count: number;
  /** The server warned: what was committed may not be on the standby. */
  readonly isDoubtful: boolean;
}

export interface Statement {
  readonly text: string;
  /** A statement with a name is parsed once per connection. */
  readonly name?: string;
  readonly values?: readonly unknown[];
}

export type Query = <Row>(statement: Statement | string) => Promise<Answer<Row>>;

interface Connection {
  readonly link: Link;
  readonly signs: { warnings: number };
}

/** How long a server that does not answer may delay the search for the primary. */
const connectMsMax = 5_000;
/** How long a read waits for a server that does not answer. */
const patienceMs = 10_000;
const retryMs = 200;

export class Session {
  /** Time limit of one call. */
  limitMs: number;
  readonly clock: Clock;
  readonly #connect: Connect;
  readonly #options: SessionOptions;
  readonly #urls: string[];
  #connection: Connection | undefined;
  /** Calls run one after another, because a transaction owns the connection. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #connections = 0;

  constructor(options: SessionOptions, limitMs: number) {
    const { clock, connect } = options.platform ?? systemPlatform;
    this.limitMs = limitMs;
    this.clock = clock;
    this.#connect = connect;
    this.#options = options;
    this.#urls = options.urls ?? serversIn(options.url);
  }

  /** Number of connections made so far. It changes with each new one. */
  get connections(): number {
    return this.#connections;
  }

  query<Row>(statement: Statement | string): Promise<Answer<Row>> {
    return this.use((query) => query<Row>(statement));
  }

  /** Everything or nothing. */
  transaction<Value>(begin: string, work: (query: Query) => Promise<Value>): Promise<Value> {
    return this.use(async (query) => {
      await query(begin);
      try {
        const value = await work(query);
        await query("commit");
        return value;
      } catch (error) {
        // Ends the transaction too.
        this.drop();
        throw error;
      }
    });
  }

  /** Runs work that has the connection for itself. Throws Unavailable or StoreFault. */
  use<Value>(work: (query: Query) => Promise<Value>): Promise<Value> {
    const run = async () => {
      const connection = await this.#connected();
      return await work((statement) => this.#ask(connection, statement));
    };
    const result = this.#last.then(run, run);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Asks again while the server cannot be reached, for a while. */
  async patiently<Value>(ask: () => Promise<Value>): Promise<Value> {
    for (const end = this.clock.now() + patienceMs; ; ) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof Unavailable) || this.clock.now() > end) throw error;
        await pause(this.clock, retryMs);
      }
    }
  }

  /** The next call makes a new connection. */
  drop(): void {
    const link = this.#connection?.link;
    this.#connection = undefined;
    link?.destroy();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    const link = this.#connection?.link;
    this.#connection = undefined;
    await link?.end().catch(() => {});
  }

  async #ask<Row>(connection: Connection, statement: Statement | string): Promise<Answer<Row>> {
    const { link, signs } = connection;
    const before = signs.warnings;
    const config = typeof statement === "string" ? { text: statement } : statement;
    try {
      const { rows, rowCount } = await this.#inTime(link.query(config));
      return { rows: rows as readonly Row[], count: rowCount ?? 0, isDoubtful: signs.warnings !== before };
    } catch (error) {
      const found = faultOf(error);
      if (found instanceof Unavailable && this.#connection === connection) this.drop();
      throw found;
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#isClosed) throw new Unavailable("the engine is closed");
    if (this.#connection !== undefined) return this.#connection;
    let refused: Error | undefined;
    for (const url of [...this.#urls]) {
      try {
        this.#connection = await this.#connectTo(url);
        this.#connections += 1;
        this.#urls.sort((one, other) => Number(other === url) - Number(one === url));
        return this.#connection;
      } catch (error) {
        refused = faultOf(error);
        if (refused instanceof StoreFault) throw refused;
      }
    }
    throw refused ?? new Unavailable("postgres.url names no server");
  }

  async #connectTo(url: string): Promise<Connection> {
    const { instance, schema, settings } = this.#options;
    const signs = { warnings: 0 };
    const limitMs = Math.min(this.limitMs, connectMsMax);
    const connecting = this.#connect({
      url,
      instance,
      limitMs,
      onWarning: () => {
        signs.warnings += 1;
      },
      onEnd: () => {
        if (this.#connection?.signs === signs) this.#connection = undefined;
      },
    });
    try {
      const link = await this.#inTime(connecting, limitMs);
      // A simple query, because it has several statements.
      await this.#inTime(link.query(`set search_path = ${schema}; ${settings}`));
      const { rows } = await this.#inTime(link.query("select pg_is_in_recovery()::text as standby"));
      const [row] = rows as readonly { readonly standby: string }[];
      if (row?.standby === "true") throw new Unavailable("the server is a standby");
      return { link, signs };
    } catch (error) {
      connecting.then((link) => link.end()).catch(() => {});
      throw error;
    }
  }

  async #inTime<Value>(work: Promise<Value>, limitMs = this.limitMs): Promise<Value> {
    const { clock } = this;
    let stop = () => {};
    const late = new Promise<never>((_, reject) => {
      stop = clock.setTimer(limitMs, () => reject(new Unavailable(`no answer within ${limitMs} ms`)));
    });
    // If it fails after the limit, there is no one left to tell.
    work.catch(() => {});
    try {
      return await Promise.race([work, late]);
    } finally {
      stop();
    }
  }
}

/** `postgres://user@one,two:5433/name` names two servers, and so does `?host=/one,/two`. */
export function serversIn(url: string): string[] {
  const inAuthority = /^(\w+:\/\/(?:[^@/]*@)?)([^/?@]+)((?:[/?].*)?)$/s;
  const parts = inAuthority.exec(url) ?? /^(.*[?&]host=)([^&]+)(.*)$/s.exec(url);
  if (parts === null) return [url];
  const [, before = "", hosts = "", after = ""] = parts;
  return hosts.split(",").map((host) => `${before}${host}${after}`);
}

/** SQLSTATEs after which a call can be repeated. Whether it had an effect may be unknown. */
const passing = /^(08|25006|40|53[23]|55P03|57)/;

const sqlState = /^[0-9A-Z]{5}$/;

/** Errors of the client have no code, or a system code. EPIPE looks like a SQLSTATE. */
export function faultOf(error: unknown): Unavailable | StoreFault {
  if (error instanceof Unavailable || error instanceof StoreFault) return error;
  const { code = "", message, syscall } = error as Error & { code?: string; syscall?: string };
  if (syscall !== undefined || !sqlState.test(code) || passing.test(code))
    return new Unavailable(message, { cause: error });
  const said = `Postgres: ${message} (${code}`;
  if (code === "53100") return new StoreFault("full", `${said}; make room on the server's disk)`, error);
  if (code.startsWith("28") || code === "3D000" || code === "42501")
    return new StoreFault("failed", `${said}; see postgres.url and the role's rights)`, error);
  return new StoreFault("failed", `${said})`, error);
}
