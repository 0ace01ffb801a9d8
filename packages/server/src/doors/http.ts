// The http door: the yard's native one. It puts the parts together and is what the runtime sees of them.

import type { AddressInfo } from "node:net";
import { defaultLimits, type Effect, type Instant, type Moment } from "@yardmaster/core";
import type { Logger } from "pino";
import type { DoorConfig } from "../config/door-settings.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults } from "../door-kit/faults.js";
import { listenAt } from "../door-kit/listening.js";
import type { Tap } from "../door-kit/tap.js";
import { Access } from "../http/access.js";
import { Answers } from "../http/answers.js";
import { addAttemptRoutes } from "../http/attempt-routes.js";
import { AttemptTokens } from "../http/attempt-token.js";
import { Bodies } from "../http/bodies.js";
import type { HttpContext, TraceCarrier } from "../http/context.js";
import { EventFeed } from "../http/event-feed.js";
import { addEventRoutes } from "../http/event-routes.js";
import { Exchange } from "../http/exchange.js";
import { ApiDescription } from "../http/openapi.js";
import { addPageRoute } from "../http/page-route.js";
import { faultCodes, loggedProblems } from "../http/problems.js";
import { addQueueRoutes } from "../http/queue-routes.js";
import { createHttpServer, defaultTimeouts, type HttpServer, type HttpTimeouts } from "../http/server.js";
import { addSubmitRoutes } from "../http/submit-routes.js";
import { addTaskRoutes } from "../http/task-routes.js";
import { noteAnswer } from "../http/traffic.js";
import { WireFeed } from "../http/wire-feed.js";
import { WorkerRoster } from "../http/worker-roster.js";
import { addWorkerRoutes } from "../http/worker-routes.js";
import { addYardRoutes, type YardFacts } from "../http/yard-routes.js";
import { showListenAddress } from "../listen-address.js";

export interface HttpDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"http">;
  readonly payloadBytesMax: number;
  /** Seals the tokens of attempts, unless an earlier life left one: who knows it can speak for every worker. */
  readonly secret: Uint8Array;
  readonly facts: YardFacts;
  readonly log: Logger;
  readonly tap: Tap;
  readonly traces?: TraceCarrier | undefined;
  /** Queues that are there even when empty. */
  readonly queues?: readonly string[];
  readonly timeouts?: Partial<HttpTimeouts>;
}

/** As many as the core takes from all doors: it is the one that says no, and this only bounds what we remember. */
const workersMax = defaultLimits.workers;
/** All bodies on their way together, in or out, in bodies of the largest size: two, or very many small ones. */
const bodiesShare = 2;
/** How long answers that are under way may take once the door closes. */
const closingMsMax = 2_000;
/** The memo that keeps the secret. */
const secretMemo = "secret";

export class HttpDoor implements Door {
  readonly name = "http";
  readonly readsPayloads = true;
  readonly faults: Faults;
  readonly #config: DoorConfig<"http">;
  readonly #exchange: Exchange;
  readonly #roster: WorkerRoster;
  readonly #events: EventFeed;
  readonly #wire: WireFeed;
  readonly #app: HttpServer;
  readonly #port: Port;
  readonly #tokens: AttemptTokens;
  readonly #answers: Answers;
  readonly #secret: Uint8Array;
  #isAccepting = true;

  constructor(options: HttpDoorOptions) {
    const { port, config, payloadBytesMax, secret, facts, log, tap, traces, queues, timeouts } = options;
    this.#config = config;
    this.#port = port;
    this.#secret = secret;
    this.#tokens = new AttemptTokens(secret);
    this.#exchange = new Exchange(port);
    this.#roster = new WorkerRoster(port, workersMax);
    // Events of another process are not gone on from: what happened between the two is not known.
    this.#events = new EventFeed(port, port.now().wall.toString(36));
    this.#wire = new WireFeed(port, tap);
    const access = new Access({ hosts: [config.listen.host, ...config.hosts], token: config.token });
    this.faults = new Faults((kind, peer, detail) => log.info({ door: "http", peer, kind }, detail));
    const problemOf = loggedProblems(log);
    const bodies = new Bodies(bodiesShare * payloadBytesMax);
    const outgoing = new Bodies(bodiesShare * payloadBytesMax);
    this.#answers = new Answers(outgoing);
    this.#app = createHttpServer({
      access,
      bodies,
      answers: this.#answers,
      timeouts: { ...defaultTimeouts, ...timeouts },
      problemOf,
      onProblem: ({ code, message }, peer) => {
        if (faultCodes.has(code)) this.faults.add(code, peer, port.now(), message);
      },
      onAnswered: (request, reply) => noteAnswer(tap, request, reply),
    });
    const context: HttpContext = {
      port,
      exchange: this.#exchange,
      roster: this.#roster,
      tokens: this.#tokens,
      bodies,
      answers: this.#answers,
      outgoing,
      payloadBytesMax,
      problemOf,
      traces,
      lastingQueues: new Set(queues),
      isAccepting: () => this.#isAccepting,
      shortage: () => facts.shortage?.(),
    };
    const api = new ApiDescription();
    api.watch(this.#app);
    addYardRoutes(this.#app, {
      facts: { ...facts, isReady: () => this.#isAccepting && facts.isReady() },
      api,
      apiFacts: { version: facts.version, hasToken: config.token !== undefined },
    });
    addSubmitRoutes(this.#app, context);
    addTaskRoutes(this.#app, context);
    addQueueRoutes(this.#app, context);
    addWorkerRoutes(this.#app, context);
    addAttemptRoutes(this.#app, context);
    addEventRoutes(this.#app, this.#events, this.#wire);
    addPageRoute(this.#app);
  }

  /** Of large answers that have not been taken. */
  get answerBytes(): number {
    return this.#answers.bytes;
  }

  /** Of the listener for whom most waits to be read. */
  get unreadBytes(): number {
    return this.#events.unreadBytes;
  }

  async open(): Promise<DoorAddresses> {
    this.#keepSecret();
    const { listen } = this.#config;
    await listenAt(this.name, listen, () => this.#app.listen({ host: listen.host, port: listen.port }));
    const { port } = this.#app.server.address() as AddressInfo;
    return { listen: showListenAddress({ host: listen.host, port }) };
  }

  /** Tokens outlive a restart: a worker that holds one finishes what it began. */
  #keepSecret(): void {
    const kept = this.#port.takeMemos().get(secretMemo);
    if (kept !== undefined) this.#tokens.use(kept);
    else this.#port.post({ type: "memo-written", name: secretMemo, bytes: this.#secret });
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) if (effect.type === "dismiss") this.#roster.forget(effect.worker);
    this.#exchange.deliver(effects);
  }

  handleTimeout(now: Moment): void {
    this.#roster.handleTimeout(now);
    this.#events.handleTimeout(now);
    this.#wire.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    let next = this.#roster.nextDeadline();
    for (const deadline of [this.#events.nextDeadline(), this.#wire.nextDeadline()]) {
      if (deadline !== undefined && (next === undefined || deadline < next)) next = deadline;
    }
    return next;
  }

  stopAccepting(): void {
    this.#isAccepting = false;
  }

  async close(): Promise<void> {
    this.#isAccepting = false;
    this.#exchange.close();
    this.#events.close();
    this.#wire.close();
    const late = setTimeout(() => this.#app.server.closeAllConnections(), closingMsMax);
    await this.#app.close();
    clearTimeout(late);
  }
}
