// A task that ended badly, submitted anew; on request with everything that was cancelled because
// of it.

import type { GraphItem, StoredTask, TaskId } from "@yardmaster/core";
import { cancelledBecauseOf, doneDependencies } from "../actions/retried-graph.js";
import { batchItemsMax } from "./batch.js";
import { type HttpContext, refuseNewTasks, showTask } from "./context.js";
import { asProblem, graphBytesMax, submitGraph } from "./graph-routes.js";
import { operation } from "./operation.js";
import { retryQuery, taskPath } from "./parameters.js";
import { Problem } from "./problems.js";
import { noRight } from "./route-rights.js";
import { taskSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { type SubmitRequest, submissionOf, type Writable } from "./submission.js";
import { sendAccepted, submit } from "./submit-routes.js";

type Submission = GraphItem["submission"];
/** What a request says about its client. */
type Client = Pick<SubmitRequest, "headers" | "ip" | "login">;

export function addRetryRoutes(app: HttpServer, context: HttpContext): void {
  app.post(
    "/v1/tasks/:id(.*)::retry",
    { onRequest: refuseNewTasks(context), ...retryOperation },
    async ({ params: { id }, query: { key, dependents }, headers, ip, login }, reply) => {
      const task = await endedBadly(context, id);
      const after = await doneDependencies(context.port.reads, task);
      const client = { headers, ip, login };
      const plain = await repeated(context, task, client, key);
      const submission = after.length === 0 ? plain : { ...plain, after };
      if (dependents) {
        const items = await withDependents(context, task, submission, { client, key });
        const [first] = await submitGraph(context, items).catch((fault) => {
          throw asProblem(fault);
        });
        const { task: made, existing } = first as { task: TaskId; existing: boolean };
        if (!existing) reply.code(201).header("Location", `/v1/tasks/${made}`);
        return showTask(context, made);
      }
      submit(context, submission, false, (submitted) => {
        if (submitted instanceof Problem) reply.send(submitted);
        else sendAccepted(context, reply, submitted, false);
      });
      return reply;
    },
  );
}

async function endedBadly({ port }: HttpContext, id: TaskId): Promise<StoredTask> {
  const task = await port.reads.task(id);
  if (task === undefined) throw new Problem("not_found", `there is no task ${id}`);
  const state = task.progress?.state ?? "waiting";
  if (!["failed", "cancelled", "expired"].includes(state))
    throw new Problem(
      "wrong_state",
      `task ${id} is ${state}; only a task that failed, expired or was cancelled can be retried`,
    );
  return task;
}

/** The same task again. The caller sets its dependencies. */
async function repeated(
  context: HttpContext,
  { head }: StoredTask,
  client: Client,
  key?: string,
): Promise<Submission> {
  const payload = await context.port.reads.body(head.id, "payload");
  if (payload === undefined) throw new Problem("not_found", `there is no task ${head.id}`);
  const { attempts, failures, attemptTimeoutMs } = head.policy;
  const options = { priority: head.priority, attempts, failures, key };
  const submission: Writable<Submission> = submissionOf(context, {
    queue: head.queue,
    payload,
    options,
    ...client,
  });
  if (attemptTimeoutMs > 0) submission.attemptTimeoutMs = attemptTimeoutMs;
  submission.retryOf = head.id;
  const { group, ifFailed } = head.relations ?? {};
  if (group !== undefined) submission.group = group;
  if (ifFailed !== undefined) submission.ifFailed = ifFailed;
  return submission;
}

/** The task and, level by level, the tasks that were cancelled because of it, as a graph. */
async function withDependents(
  context: HttpContext,
  first: StoredTask,
  submission: Submission,
  { client, key }: { readonly client: Client; readonly key: string | undefined },
): Promise<GraphItem[]> {
  const tasks = [first];
  const submissions = [submission];
  const indexes = new Map<TaskId, number>([[first.head.id, 0]]);
  let bytes = submission.payload.size;
  for (let next = 0; next < tasks.length; next++) {
    for await (const task of cancelledBecauseOf(context.port.reads, (tasks[next] as StoredTask).head.id)) {
      if (indexes.has(task.head.id)) continue;
      bytes += task.head.payload.size;
      if (tasks.length === batchItemsMax || bytes > graphBytesMax) throw tooMany(first.head.id);
      indexes.set(task.head.id, tasks.length);
      tasks.push(task);
      const ownKey = key === undefined ? undefined : `${key}:${task.head.id}`;
      const { principal } = client.login;
      // Its queue may be hidden, so it is not named.
      if (!principal.may("operate", task.head.queue))
        throw noRight(principal, "operate", `all tasks that depend on task ${first.head.id}`);
      submissions.push(await repeated(context, task, client, ownKey));
    }
  }
  const others = tasks.slice(1).map(({ head }, index) => {
    return tied(context, head, submissions[index + 1] as Submission, indexes);
  });
  return [{ submission, afterItems: [] }, ...(await Promise.all(others))];
}

function tooMany(id: TaskId): Problem {
  const detail = `more than ${batchItemsMax} tasks or ${graphBytesMax} bytes were cancelled because of task ${id}`;
  return new Problem("payload_too_large", `${detail}; retry them in parts`);
}

/** Dependencies on retried tasks point to the new tasks. Others stay, unless they were evicted. */
async function tied(
  { port }: HttpContext,
  { relations }: StoredTask["head"],
  submission: Submission,
  indexes: ReadonlyMap<TaskId, number>,
): Promise<GraphItem> {
  const after: TaskId[] = [];
  const afterItems: number[] = [];
  for (const id of relations?.after ?? []) {
    const index = indexes.get(id);
    if (index !== undefined) afterItems.push(index);
    else if (port.reads.isLive(id) || (await port.reads.pastOutcomes([id])).length > 0) after.push(id);
  }
  return { submission: after.length === 0 ? submission : { ...submission, after }, afterItems };
}

const retryOperation = operation({
  id: "retryTask",
  tag: "tasks",
  summary: "Retry a task that failed, expired or was cancelled",
  description:
    "A task's outcome never changes, so this submits a new task with the same queue, payload, priority and tries. " +
    "Without a `key`, each call creates another one. With `dependents=true`, the tasks that were cancelled because this " +
    "one failed are also submitted again, and depend on the new ones.",
  path: taskPath,
  query: retryQuery,
  answers: {
    200: { is: "With a `key` that was used before: that task", json: taskSchema },
    201: { is: "The new task", json: taskSchema, headers: { Location: "Where the new task is" } },
  },
  problems: ["not_found", "wrong_state", "key_conflict", "payload_too_large", "queue_full", "not_ready"],
});
