// The right that each route needs, in one table, and the hook that enforces it. A route without an
// entry is refused at start, so that a new one cannot be forgotten.

import type { TaskId } from "@yardmaster/core";
import type { FastifyRequest } from "fastify";
import type { Principal } from "../access/principal.js";
import type { Right } from "../access/rights.js";
import type { Reads } from "../door-kit/door.js";
import { Problem } from "./problems.js";

/**
 * For which queue the right is needed. `queue`: the one in the path. `task`, `schedule`:
 * those of the thing in the path. `filter`: those of the parameter `queue`, and all without it.
 * `some`: any queue; the route shows or does only what the rights allow. `all`: every queue.
 */
export type Scope = "queue" | "task" | "schedule" | "filter" | "some" | "all";

/** `nothing`: open to everybody. `login`: any principal. `or`: another right that suffices. */
export type RouteRight = "nothing" | "login" | readonly [right: Right, scope: Scope, or?: Right];

/** By operation. */
export const routeRights: ReadonlyMap<string, RouteRight> = new Map<string, RouteRight>([
  ["getHealth", "nothing"],
  ["getReadiness", "nothing"],
  ["getPage", "nothing"],
  ["getPageFile", "nothing"],
  ["getMe", "login"],
  ["getApi", "login"],
  ["listDoors", "login"],
  ["listSpecs", "login"],
  ["listNodes", "login"],
  ["stepDown", ["operate", "all"]],
  ["submitTask", ["submit", "queue"]],
  ["submitTasks", ["submit", "queue"]],
  ["submitGraph", ["submit", "some"]],
  ["claim", ["work", "queue"]],
  ["work", ["work", "queue"]],
  // The attempt's token proves that this principal claimed it with the right to its queue.
  ["beatAttempt", ["work", "some"]],
  ["completeAttempt", ["work", "some"]],
  ["failAttempt", ["work", "some"]],
  ["returnAttempt", ["work", "some"]],
  ["endAttempts", ["work", "some"]],
  // Only for workers of the same principal: see worker-names.ts.
  ["leaveWorker", ["work", "some"]],
  ["getTask", ["read", "task"]],
  // A worker may fetch the payload of a task that it could claim.
  ["getPayload", ["read", "task", "work"]],
  ["getResult", ["read", "task"]],
  ["listTasks", ["read", "some"]],
  ["countTasks", ["read", "filter"]],
  ["showQueue", ["read", "queue"]],
  ["listQueues", ["read", "some"]],
  ["listWorkers", ["read", "some"]],
  ["listLostWorkers", ["read", "some"]],
  ["listSchedules", ["read", "some"]],
  ["getSchedule", ["read", "schedule"]],
  ["listActions", ["read", "some"]],
  ["getAction", ["read", "some"]],
  ["listAlerts", ["read", "some"]],
  ["followEvents", ["read", "some"]],
  ["getHistory", ["read", "filter"]],
  ["listFailures", ["read", "filter"]],
  ["getMetrics", ["read", "some"]],
  ["getFigures", ["read", "all"]],
  ["getTraffic", ["read", "all"]],
  ["cancelTask", ["operate", "task"]],
  ["retryTask", ["operate", "task"]],
  ["cancelTasks", ["operate", "filter"]],
  ["retryTasks", ["operate", "filter"]],
  ["purgeQueue", ["operate", "queue"]],
  ["pauseQueue", ["operate", "queue"]],
  ["resumeQueue", ["operate", "queue"]],
  ["drainQueue", ["operate", "queue"]],
  ["setQueue", ["operate", "queue"]],
  // A worker may drain itself. For others, the route checks the right for each of their queues.
  ["drainWorker", ["operate", "some", "work"]],
  ["putSchedule", ["operate", "some"]],
  ["deleteSchedule", ["operate", "schedule"]],
  ["pauseSchedule", ["operate", "schedule"]],
  ["resumeSchedule", ["operate", "schedule"]],
  ["runScheduleNow", ["operate", "schedule"]],
  ["stopAction", ["operate", "some"]],
  ["followWire", ["watch", "some"]],
]);

export function rightOf(operation: string): RouteRight {
  const found = routeRights.get(operation);
  if (found === undefined) throw new Error(`the operation ${operation} has no entry in route-rights.ts`);
  return found;
}

type Named = FastifyRequest<{
  Params: { readonly queue?: string; readonly id?: string; readonly name?: string };
  Querystring: { readonly queue?: string | readonly string[] };
}>;

/**
 * Refuses a request without the right. `done` is called at once where no task, worker or schedule
 * has to be read first.
 */
export function checkRight(
  reads: Reads,
  principal: Principal,
  needed: RouteRight,
  request: FastifyRequest,
  done: (fault?: Error) => void,
): void {
  if (typeof needed === "string") return done();
  const [right, scope, or] = needed;
  if (principal.rights.mayForAll(right)) return done();
  if (or !== undefined)
    return checkRight(reads, principal, [or, scope], request, (fault) => {
      if (fault === undefined) done();
      else checkRight(reads, principal, [right, scope], request, done);
    });
  if (!principal.rights.mayForSome(right)) return done(noRight(principal, right));
  const { params, query } = request as Named;
  switch (scope) {
    case "some":
      return done();
    case "all":
      return done(noRight(principal, right, "all queues"));
    case "queue":
      return done(queueFault(principal, right, params.queue ?? ""));
    case "filter":
      return done(filterFault(principal, right, query.queue));
    default:
      // Something that does not exist now may be committed a moment later in a hidden queue. So the
      // handler is not called.
      queuesOf(reads, scope, params).then((queues) => {
        const what = `${scope} ${params.id ?? params.name ?? ""}`;
        done(queues === undefined ? absent(what) : subjectFault(principal, right, queues, what));
      }, done);
  }
}

export function queueFault(principal: Principal, right: Right, queue: string): Problem | undefined {
  return principal.may(right, queue) ? undefined : noRight(principal, right, `queue ${queue}`);
}

function filterFault(
  principal: Principal,
  right: Right,
  queue: string | readonly string[] | undefined,
): Problem | undefined {
  const given = typeof queue === "string" ? [queue] : (queue ?? []);
  // Some routes take a list of names.
  const queues = given.flatMap((text) => text.split(",")).filter((name) => name !== "");
  if (queues.length === 0) return noRight(principal, right, "all queues; name one with ?queue=");
  for (const each of queues) if (!principal.may(right, each)) return queueFault(principal, right, each);
  return undefined;
}

/** The queues of the thing in the path; undefined if there is no such thing. */
async function queuesOf(
  reads: Reads,
  scope: "task" | "schedule",
  { id = "", name = "" }: Named["params"],
): Promise<readonly string[] | undefined> {
  if (scope === "schedule") {
    const schedule = (await reads.schedules()).find((each) => each.name === name);
    return schedule && [schedule.settings.queue];
  }
  const task = /^\d{1,16}$/.test(id) ? await reads.task(Number(id) as TaskId) : undefined;
  return task && [task.head.queue];
}

/**
 * What a principal may not even read does not exist for it. `what`: a kind of thing and its name.
 */
export function subjectFault(
  principal: Principal,
  right: Right,
  queues: readonly string[],
  what: string,
): Problem | undefined {
  // No queue decides who may know of it.
  if (queues.length === 0 && !principal.rights.mayForAll(right)) return absent(what);
  const missing = queues.find((queue) => !principal.may(right, queue));
  if (missing === undefined) return undefined;
  if (!queues.every((queue) => principal.may("read", queue))) return absent(what);
  return noRight(principal, right, `queue ${missing}`);
}

export function absent(what: string): Problem {
  return new Problem("not_found", `there is no ${what}`);
}

export function noRight(principal: Principal, right: Right, what?: string): Problem {
  const where = what === undefined ? "" : ` for ${what}`;
  return new Problem("no_right", `${principal.name} does not have the right to ${right}${where}`);
}

/** True if the principal has any use for this queue, so that its name is no secret. */
export function mayKnowOf(principal: Principal, queue: string): boolean {
  return (["read", "submit", "work"] as const).some((right) => principal.may(right, queue));
}

/** True if every queue may be read: a worker's row tells about all its queues. */
export function mayReadAll(principal: Principal, queues: readonly string[]): boolean {
  return (
    principal.rights.mayForAll("read") ||
    (queues.length > 0 && queues.every((queue) => principal.may("read", queue)))
  );
}
