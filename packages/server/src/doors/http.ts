// The http door, the yard's native one. It assembles the parts, and the runtime sees only this
// class.

import { Server as TlsServer } from "node:tls";
import {
  defaultLimits,
  type Effect,
  earlier,
  type Instant,
  type Moment,
  type WorkerId,
} from "@yardmaster/core";
import type { Logger } from "pino";
import type { Access } from "../access/access.js";
import { Actions } from "../actions/actions.js";
import { type Clock, realClock } from "../clock.js";
import { checkOwnership } from "../cluster.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults } from "../door-kit/faults.js";
import { listenAt } from "../door-kit/listening.js";
import { addressRefused, filterConnections } from "../door-kit/peer-filter.js";
import type { Tap } from "../door-kit/tap.js";
import { Answers } from "../http/answers.js";
import { AttemptTokens } from "../http/attempt-token.js";
import { Bodies } from "../http/bodies.js";
import type { HttpContext, TraceCarrier } from "../http/context.js";
import { EventFeed } from "../http/event-feed.js";
import { Exchange } from "../http/exchange.js";
import { HttpLogins } from "../http/http-logins.js";
import { type ListenHttp, listenOnPort } from "../http/listening.js";
import { OperationLog } from "../http/operation-log.js";
import { OriginRules } from "../http/origin-rules.js";
import { faultCodes, loggedProblems } from "../http/problems.js";
import { addRoutes } from "../http/routes.js";
import { createHttpServer, defaultTimeouts, type HttpServer, type HttpTimeouts } from "../http/server.js";
import { readTls, tlsNote } from "../http/tls-files.js";
import { noteAnswer } from "../http/traffic.js";
import { recentFaults } from "../http/watch-routes.js";
import { WireFeed } from "../http/wire-feed.js";
import { WorkStreams } from "../http/work-streams.js";
import { WorkerRoster } from "../http/worker-roster.js";
import type { YardFacts } from "../http/yard-routes.js";
import { showListenAddress } from "../listen-address.js";
import type { Room } from "../memory-watch.js";
import type { DoorConfig } from "../registry/doors.js";
import type { Silence } from "../watching/alerts.js";
import { Lookout } from "../watching/lookout.js";

export interface HttpDoorOptions {
  readonly port: Port;
  readonly access: Access;
  readonly config: DoorConfig<"http">;
  readonly payloadBytesMax: number;
  /**
   * Seals the tokens of attempts, unless a stored secret exists. A party that knows it can act for
   * any worker.
   */
  readonly secret: Uint8Array;
  readonly facts: YardFacts;
  readonly log: Logger;
  readonly tap: Tap;
  readonly traces?: TraceCarrier | undefined;
  /** Queues that exist even when empty. */
  readonly queues?: readonly string[];
  /** The names of the settings that the configuration file has for each queue. */
  readonly fileSettings?: ReadonlyMap<string, ReadonlySet<string>>;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** The simulator passes its own clock and its own connections. */
  readonly clock?: HttpClock;
  readonly listen?: ListenHttp;
}

export type HttpClock = Pick<Clock, "defer" | "setTimer">;
/**
 * The limit that the core applies to all doors together. The core enforces it; here it only bounds
 * memory.
 */
const workersMax = defaultLimits.workers;
/**
 * Limit for all bodies in transit, in or out, as a multiple of the largest body: two of those, or
 * many small ones.
 */
const bodiesShare = 2;
/** How long open answers may take once the door closes. */
const closingMsMax = 2_000;
/** The memo that keeps the secret. */
const secretMemo = "secret";

export class HttpDoor implements Door {
  readonly name = "http";
  readonly readsPayloads = true;
  readonly faults: Faults;
  readonly rooms: readonly Room[];
  readonly #config: DoorConfig<"http">;
  readonly #exchange: Exchange;
  readonly #roster: WorkerRoster;
  readonly #streams: WorkStreams;
  readonly #lookout: Lookout;
  readonly #events: EventFeed;
  readonly #wire: WireFeed;
  readonly #app: HttpServer;
  readonly #port: Port;
  readonly #tokens: AttemptTokens;
  readonly #answers: Answers;
  readonly #actions: Actions;
  readonly #secret: Uint8Array;
  readonly #clock: HttpClock;
  readonly #listen: ListenHttp;
  readonly #logins: HttpLogins;
  readonly #unfollow: () => void;
  #isAccepting = true;
  #listening: Promise<DoorAddresses> | undefined;

  constructor(options: HttpDoorOptions) {
    const { port, config, payloadBytesMax, secret, facts, log, tap, traces, queues, timeouts } = options;
    this.#config = config;
    this.#port = port;
    this.#secret = secret;
    this.#clock = options.clock ?? realClock;
    this.#listen = options.listen ?? listenOnPort;
    this.#tokens = new AttemptTokens(secret);
    this.#exchange = new Exchange(port);
    const tokens = this.#tokens;
    const exchange = this.#exchange;
    const roster = new WorkerRoster(port, workersMax, (worker) => this.#streams.forget(worker));
    this.#roster = roster;
    const defer = this.#clock.defer;
    this.#streams = new WorkStreams({ port, exchange, roster, tokens, traces, defer });
    this.#actions = new Actions(port, exchange, log);
    const faults = () => facts.faults?.() ?? [[this.name, this.faults] as const];
    this.#lookout = new Lookout(port, {
      faults: ({ instant }) => recentFaults(faults(), instant),
      refusing: () => facts.refusing?.(),
      retentionMs: facts.retentionMs ?? 0,
    });
    // The process's start time identifies the feed: a client cannot resume that of another process.
    const series = port.now().wall.toString(36);
    this.#events = new EventFeed(port, series, this.#lookout, { durability: facts.durability });
    this.#wire = new WireFeed(port, tap);
    const origins = new OriginRules(
      [config.listen.host, ...config.hosts, ...(facts.ownHosts ?? [])],
      () => options.access.anonymousAt(this.name) === undefined,
    );
    this.#logins = new HttpLogins(options.access, () => port.now().instant);
    this.#unfollow = options.access.follow(() => this.#streams.endForbidden());
    let by: string | undefined;
    this.faults = new Faults(
      (kind, peer, detail) =>
        log.info({ door: "http", peer, kind, ...(by !== undefined && { principal: by }) }, detail),
      () => port.now(),
    );
    const problemOf = loggedProblems(log);
    const operations = new OperationLog(log, () => port.now().instant);
    const bodies = new Bodies(bodiesShare * payloadBytesMax, () => port.now().instant);
    const outgoing = new Bodies(bodiesShare * payloadBytesMax);
    this.rooms = [bodies, outgoing];
    this.#answers = new Answers(outgoing);
    this.#app = createHttpServer({
      origins,
      logins: this.#logins,
      reads: port.reads,
      checkOwnership: (operation, done) => checkOwnership(facts.cluster, operation, done),
      tls: config.tls && readTls(config.tls),
      bodies,
      answers: this.#answers,
      timeouts: { ...defaultTimeouts, ...timeouts },
      problemOf,
      onProblem: ({ code, message }, peer, principal) => {
        by = principal;
        if (faultCodes.has(code)) this.faults.add(code, peer, message);
      },
      onAnswered: (request, reply) => {
        noteAnswer(tap, request, reply);
        operations.note(request, reply);
      },
    });
    filterConnections(this.#app.server, config.peers, (peer) =>
      this.faults.add(addressRefused, peer, "its address is not in doors.http.peers"),
    );
    const context: HttpContext = {
      port,
      exchange,
      roster,
      streams: this.#streams,
      tokens,
      bodies,
      answers: this.#answers,
      outgoing,
      payloadBytesMax,
      problemOf,
      traces,
      lastingQueues: new Set(queues),
      fileSettings: options.fileSettings ?? new Map(),
      isAccepting: () => this.#isAccepting,
      shortage: () => facts.shortage?.(),
    };
    addRoutes(this.#app, context, {
      facts: { ...facts, isReady: () => this.#isAccepting && facts.isReady() },
      hasAccess: options.access.anonymousAt(this.name) === undefined,
      actions: this.#actions,
      lookout: this.#lookout,
      events: this.#events,
      wire: this.#wire,
      tap,
      faults,
    });
  }

  /** Bytes of large answers that clients have not read yet. */
  get answerBytes(): number {
    return this.#answers.bytes;
  }

  /** Unread bytes of the listener or stream worker that is furthest behind. */
  get unreadBytes(): number {
    return Math.max(this.#events.unreadBytes, this.#streams.unreadBytes);
  }

  get note(): string | undefined {
    return this.#config.tls === undefined ? undefined : tlsNote;
  }

  async open(): Promise<DoorAddresses> {
    const memos = this.#port.takeMemos();
    this.#keepSecret(memos);
    this.#actions.resume(memos);
    this.#lookout.start();
    return this.openEarly();
  }

  /** A standby answers the few requests that need no yard. */
  openEarly(): Promise<DoorAddresses> {
    this.#listening ??= this.#beginToListen();
    return this.#listening;
  }

  async #beginToListen(): Promise<DoorAddresses> {
    const { listen } = this.#config;
    const opened = await listenAt(this.name, listen, () => this.#listen(this.#app, listen));
    return { listen: showListenAddress(opened) };
  }

  /** A renewed certificate is used for connections from now on. Throws a ConfigFault. */
  async reload(config: DoorConfig<"http">): Promise<DoorAddresses> {
    const { server } = this.#app;
    if (config.tls !== undefined && server instanceof TlsServer) server.setSecureContext(readTls(config.tls));
    return {};
  }

  /** Failed logins, for metrics. */
  get failedLogins(): number {
    return this.#logins.guard.failed;
  }

  /** Tokens survive a restart, so that a worker can finish an attempt that it began before. */
  #keepSecret(memos: ReadonlyMap<string, Uint8Array>): void {
    const kept = memos.get(secretMemo);
    if (kept !== undefined) this.#tokens.use(kept);
    else this.#port.post({ type: "memo-written", name: secretMemo, bytes: this.#secret });
  }

  deliver(effects: readonly Effect[]): void {
    this.#streams.deliver(effects);
    for (const effect of effects) if (effect.type === "dismiss") this.#roster.forget(effect.worker);
    this.#exchange.deliver(effects);
  }

  handleTimeout(now: Moment): void {
    this.#roster.handleTimeout(now);
    this.#streams.handleTimeout(now);
    this.#lookout.handleTimeout(now);
    this.#events.handleTimeout(now);
    this.#wire.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    let next = this.#roster.nextDeadline();
    for (const part of [this.#streams, this.#lookout, this.#events, this.#wire])
      next = earlier(next, part.nextDeadline());
    return next;
  }

  silenceOf(worker: WorkerId, now: Moment): Silence | undefined {
    return this.#roster.silenceOf(worker, now);
  }

  stopAccepting(): void {
    this.#isAccepting = false;
    this.#actions.close();
  }

  async close(): Promise<void> {
    this.stopAccepting();
    this.#logins.close();
    this.#unfollow();
    this.#exchange.close();
    this.#streams.close();
    this.#lookout.stop();
    this.#events.close();
    this.#wire.close();
    const cancel = this.#clock.setTimer(closingMsMax, () => this.#app.server.closeAllConnections());
    await this.#app.close();
    cancel();
  }
}
