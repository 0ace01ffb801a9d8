// Routes for workers of every dialect: list them, drain one, and their goodbye.

import type { WallTime, WorkerId } from "@yardmaster/core";
import type { Login } from "../access/principal.js";
import type { Lookout } from "../watching/lookout.js";
import { type HttpContext, showWorker } from "./context.js";
import { hasWords, partQuery } from "./list-part.js";
import { wantsMinimal } from "./minimal.js";
import { operation } from "./operation.js";
import { viewQuery, workerPath } from "./parameters.js";
import { absent, mayReadAll, subjectFault } from "./route-rights.js";
import type { HttpServer } from "./server.js";
import { lostJson, workerJson } from "./worker-json.js";
import { isOwnName, ownWorkerId } from "./worker-names.js";
import { lostListSchema, workerListSchema, workerSchema } from "./yard-schemas.js";

export function addWorkerRoutes(app: HttpServer, context: HttpContext, lookout: Lookout): void {
  const { port, exchange, roster } = context;

  app.get("/v1/workers", listOperation, async ({ query: { q, limit }, login: { principal } }) => ({
    items: (await lookout.workers())
      .filter(({ id, address, queues }) => hasWords(q, [id, address, ...queues]))
      .filter(({ queues }) => mayReadAll(principal, queues))
      .slice(0, limit)
      .map((worker) => workerJson(worker, worker.silence)),
  }));

  app.get("/v1/workers::lost", lostOperation, async ({ login: { principal } }) => {
    const joined = new Map(
      (await port.reads.workers()).flatMap(({ id, state, joinedAt }) =>
        state === "lost" ? [] : [[String(id), joinedAt] as const],
      ),
    );
    const lost = lookout.losses
      .since((port.now().wall - hourMs) as WallTime)
      .filter(({ queues }) => mayReadAll(principal, queues));
    // From the newest loss back: before each stands the time of the join that came next.
    const items = lost.map((worker) => {
      const json = lostJson(worker, backAt(worker, joined));
      joined.set(worker.id, worker.joinedAt);
      return json;
    });
    return { items };
  });

  app.post("/v1/workers/:id(.*)::leave", leaveOperation, async ({ params, login }, reply) => {
    const worker = ownWorkerId(login, params.id);
    // A worker of another door leaves there. Whether it exists is for operators.
    if (!isOwnName(login, worker) && !login.principal.rights.mayForAll("operate"))
      throw absent(`worker ${worker}`);
    const retired = exchange.ask((request) => ({ type: "worker-retired", request, worker }));
    // In the same turn as in the core, so that its next request makes it join again.
    roster.forget(worker);
    await retired;
    return reply.code(204).send();
  });

  app.post("/v1/workers/:id(.*)::drain", drainOperation, async (request, reply) => {
    const worker = await drainable(context, request.login, request.params.id);
    const isMinimal = wantsMinimal(request);
    const before = isMinimal ? undefined : await showWorker(context, worker);
    await exchange.ask((number) => ({ type: "worker-drain-asked", request: number, worker }));
    if (before === undefined) return reply.code(204).send();
    // A worker with a stream and without attempts has left already.
    const shown = await showWorker(context, worker).catch(() => ({ ...before, state: "draining" as const }));
    return reply.send(workerJson(shown, port.reads.silenceOf(shown)));
  });
}

/** The worker to drain: one of the caller's own, or one that it may operate. */
async function drainable({ port }: HttpContext, login: Login, id: string): Promise<WorkerId> {
  const { principal } = login;
  const workers = await port.reads.workers();
  const own = ownWorkerId(login, id);
  if (own !== id && workers.some((worker) => worker.id === own)) return own;
  const queues = workers.find((worker) => worker.id === id)?.queues;
  if (queues === undefined) throw absent(`worker ${id}`);
  const isAllowed = principal.rights.mayForAll("operate") || isOwnName(login, id);
  const fault = isAllowed ? undefined : subjectFault(principal, "operate", queues, `worker ${id}`);
  if (fault !== undefined) throw fault;
  return id as WorkerId;
}

const hourMs = 3_600_000;

/** When the worker joined again under the same name, if it did. */
function backAt(
  { id, at }: { readonly id: string; readonly at: WallTime },
  joined: ReadonlyMap<string, WallTime>,
): WallTime | undefined {
  const joinedAt = joined.get(id);
  return joinedAt !== undefined && joinedAt >= at ? joinedAt : undefined;
}

const lostOperation = operation({
  id: "listLostWorkers",
  tag: "workers",
  summary: "Workers lost in the last hour, with the reason and the fate of their tasks",
  answers: { 200: { is: "At most 200, the newest first", json: lostListSchema } },
});

const listOperation = operation({
  id: "listWorkers",
  tag: "workers",
  summary: "Connected and recently lost workers",
  query: partQuery,
  answers: { 200: { is: "The workers of all doors", json: workerListSchema } },
});

const leaveOperation = operation({
  id: "leaveWorker",
  tag: "workers",
  summary: "Goodbye of a worker",
  description:
    "For a worker of this door that ends in order. The tasks it still holds go to other workers at once, which does not " +
    "count as a try. The worker does not count as lost. Its next claim makes it join again.",
  path: workerPath,
  answers: { 204: { is: "It has left" } },
  problems: ["not_found"],
});

const drainOperation = operation({
  id: "drainWorker",
  tag: "workers",
  summary: "Assign nothing more to a worker; it may finish what it holds",
  path: workerPath,
  query: viewQuery,
  answers: {
    200: { is: "The worker", json: workerSchema },
    204: { is: "With `view=minimal`: the worker is draining" },
  },
  problems: ["not_found"],
});
