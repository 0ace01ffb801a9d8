// Routes about the dispatcher itself: liveness, readiness, metrics, addresses of its doors, and the
// API's description.

import type { WallTime } from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import type { Principal } from "../access/principal.js";
import type { ClusterFacts } from "../cluster.js";
import type { DoorAddresses, NamedSpec } from "../door-kit/door.js";
import type { Faults } from "../door-kit/faults.js";
import type { ApiDescription, ApiFacts } from "./openapi.js";
import { operation } from "./operation.js";
import { Problem } from "./problems.js";
import { mayKnowOf } from "./route-rights.js";
import { doorsSchema, specListSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";

export interface YardFacts {
  readonly version: string;
  isReady(): boolean;
  /** Why new tasks are refused although it is ready. */
  shortage?(): string | undefined;
  /** The metrics page in Prometheus format. */
  metrics(): Promise<string>;
  doors(): Readonly<Record<string, DoorAddresses>>;
  /** Peers' mistakes, by door. */
  faults?(): Iterable<readonly [door: string, faults: Faults]>;
  /** Why all new tasks are refused, regardless of the queue. */
  refusing?(): { readonly reason: string; readonly since: WallTime | undefined } | undefined;
  /** What an accepted task survives. */
  readonly durability?: Engine["durability"];
  /** Maximum age of finished tasks. */
  readonly retentionMs?: number;
  /** Host names that this dispatcher itself tells clients to use. */
  readonly ownHosts?: readonly string[];
  /** Absent if this dispatcher has no standbys and is none. */
  readonly cluster?: ClusterFacts | undefined;
  /** The specs of all open doors that have such a list. */
  specs?(): readonly NamedSpec[];
}

export interface YardRoutesOptions {
  readonly facts: YardFacts;
  readonly api: ApiDescription;
  readonly apiFacts: ApiFacts;
}

export function addYardRoutes(app: HttpServer, { facts, api, apiFacts }: YardRoutesOptions): void {
  app.get("/healthz", healthOperation, () => ({ ok: true }));

  app.get("/readyz", readyOperation, () => {
    const standby = facts.cluster?.standby();
    if (standby !== undefined) throw new Problem("not_ready", standby.words, { fields: { role: "standby" } });
    if (!facts.isReady()) throw new Problem("not_ready", "the dispatcher is starting or stopping");
    const shortage = facts.shortage?.();
    if (shortage !== undefined) throw new Problem("not_ready", `short of memory: ${shortage}`);
    return { ready: true };
  });

  app.get("/metrics", metricsOperation, async ({ login: { principal } }, reply) => {
    const text = readableMetrics(await facts.metrics(), principal);
    return reply.type("text/plain; version=0.0.4; charset=utf-8").send(text);
  });

  app.get("/v1/doors", doorsOperation, ({ login: { principal } }) =>
    knownAddresses(facts.doors(), principal),
  );

  app.get("/v1/specs", specsOperation, ({ login: { principal } }) => ({
    items: (facts.specs?.() ?? []).filter(({ name }) => mayKnowOf(principal, name)),
  }));

  app.get("/openapi.json", apiOperation, (_request, reply) =>
    reply.type("application/json; charset=utf-8").serializer(String).send(api.text(apiFacts)),
  );
}

/** A name with a dot, such as `controllers.example_clock`, ends in the queue that it is for. */
function knownAddresses(
  doors: Readonly<Record<string, DoorAddresses>>,
  principal: Principal,
): Record<string, DoorAddresses> {
  const isKnown = ([key]: [string, unknown]) => {
    const dot = key.indexOf(".");
    return dot < 0 || mayKnowOf(principal, key.slice(dot + 1));
  };
  return Object.fromEntries(
    Object.entries(doors).map(([door, addresses]) => [
      door,
      Object.fromEntries(Object.entries(addresses).filter(isKnown)),
    ]),
  );
}

/** A principal that may not read all queues sees the series of those that it may read. */
function readableMetrics(text: string, principal: Principal): string {
  if (principal.rights.mayForAll("read")) return text;
  const isShown = (line: string) => {
    if (line.startsWith("#") || line === "") return true;
    const queue = /[{,]queue="([^"\\]*)"/.exec(line)?.[1];
    return queue !== undefined && principal.may("read", queue);
  };
  return text.split("\n").filter(isShown).join("\n");
}

const healthOperation = operation({
  id: "getHealth",
  tag: "yard",
  summary: "Liveness",
  answers: {
    200: {
      is: "The process is alive",
      json: { type: "object", required: ["ok"], properties: { ok: { type: "boolean" } } },
    },
  },
});

const readyOperation = operation({
  id: "getReadiness",
  tag: "yard",
  summary: "Readiness",
  answers: {
    200: {
      is: "All doors are open",
      json: { type: "object", required: ["ready"], properties: { ready: { type: "boolean" } } },
    },
  },
  problems: ["not_ready"],
});

const metricsOperation = operation({
  id: "getMetrics",
  tag: "yard",
  summary: "Metrics for Prometheus",
  answers: { 200: { is: "The text format", content: { "text/plain": { type: "string" } } } },
});

const doorsOperation = operation({
  id: "listDoors",
  tag: "yard",
  summary: "Addresses of the doors",
  answers: { 200: { is: "The addresses of each open door", json: doorsSchema } },
});

const specsOperation = operation({
  id: "listSpecs",
  tag: "yard",
  summary: "The kinds of message that doors know by name",
  answers: { 200: { is: "The specs", json: specListSchema } },
});

const apiOperation = operation({
  id: "getApi",
  tag: "yard",
  summary: "This description",
  answers: { 200: { is: "OpenAPI 3.1", content: { "application/json": { type: "object" } } } },
});
