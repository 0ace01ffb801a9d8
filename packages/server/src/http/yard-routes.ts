// What machines ask about the dispatcher itself: does it live, is it ready, what does it count, where are its doors, and
// what can be asked of it.

import type { DoorAddresses } from "../door-kit/door.js";
import type { ApiDescription, ApiFacts } from "./openapi.js";
import { operation } from "./operation.js";
import { Problem } from "./problems.js";
import { doorsSchema, specListSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";

export interface YardFacts {
  readonly version: string;
  isReady(): boolean;
  /** Why new tasks are refused while it is ready otherwise. */
  shortage?(): string | undefined;
  /** The text of the metrics page, in Prometheus' format. */
  metrics(): Promise<string>;
  doors(): Readonly<Record<string, DoorAddresses>>;
  /** What monique's door knows of its specs; none where that door is closed. */
  specs?(): readonly object[];
}

export interface YardRoutesOptions {
  readonly facts: YardFacts;
  readonly api: ApiDescription;
  readonly apiFacts: ApiFacts;
}

export function addYardRoutes(app: HttpServer, { facts, api, apiFacts }: YardRoutesOptions): void {
  app.get("/healthz", healthOperation, () => ({ ok: true }));

  app.get("/readyz", readyOperation, () => {
    if (!facts.isReady()) throw new Problem("not_ready", "the dispatcher is starting or stopping");
    const shortage = facts.shortage?.();
    if (shortage !== undefined) throw new Problem("not_ready", `short of memory: ${shortage}`);
    return { ready: true };
  });

  app.get("/metrics", metricsOperation, async (_request, reply) => {
    return reply.type("text/plain; version=0.0.4; charset=utf-8").send(await facts.metrics());
  });

  app.get("/v1/doors", doorsOperation, () => facts.doors());

  app.get("/v1/specs", specsOperation, () => ({ items: facts.specs?.() ?? [] }));

  app.get("/openapi.json", apiOperation, (_request, reply) =>
    reply.type("application/json; charset=utf-8").serializer(String).send(api.text(apiFacts)),
  );
}

const healthOperation = operation({
  id: "getHealth",
  tag: "yard",
  summary: "Does it live",
  answers: {
    200: {
      is: "It does",
      json: { type: "object", required: ["ok"], properties: { ok: { type: "boolean" } } },
    },
  },
  isOpen: true,
});

const readyOperation = operation({
  id: "getReadiness",
  tag: "yard",
  summary: "Does it take work",
  answers: {
    200: {
      is: "All doors are open",
      json: { type: "object", required: ["ready"], properties: { ready: { type: "boolean" } } },
    },
  },
  problems: ["not_ready"],
  isOpen: true,
});

const metricsOperation = operation({
  id: "getMetrics",
  tag: "yard",
  summary: "Figures for Prometheus",
  answers: { 200: { is: "The text format", content: { "text/plain": { type: "string" } } } },
});

const doorsOperation = operation({
  id: "listDoors",
  tag: "yard",
  summary: "Where the doors are",
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
