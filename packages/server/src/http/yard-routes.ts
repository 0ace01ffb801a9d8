// What machines ask about the dispatcher itself: does it live, is it ready, what does it count, where are its doors.

import type { DoorAddresses } from "../door-kit/door.js";
import { noQuery } from "./parameters.js";
import { Problem } from "./problems.js";
import type { HttpServer } from "./server.js";

export interface YardFacts {
  isReady(): boolean;
  /** The text of the metrics page, in Prometheus' format. */
  metrics(): Promise<string>;
  doors(): Readonly<Record<string, DoorAddresses>>;
  /** What monique's door knows of its specs; none where that door is closed. */
  specs?(): readonly object[];
}

export function addYardRoutes(app: HttpServer, facts: YardFacts): void {
  app.get("/healthz", () => ({ ok: true }));

  app.get("/readyz", () => {
    if (!facts.isReady()) throw new Problem("not_ready", "the dispatcher is starting or stopping");
    return { ready: true };
  });

  app.get("/metrics", async (_request, reply) => {
    return reply.type("text/plain; version=0.0.4; charset=utf-8").send(await facts.metrics());
  });

  app.get("/v1/doors", { schema: { querystring: noQuery } }, () => facts.doors());

  app.get("/v1/specs", { schema: { querystring: noQuery } }, () => ({ items: facts.specs?.() ?? [] }));
}
