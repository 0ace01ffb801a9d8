// The submission that retries a task: the same queue, payload, priority and tries. The key stays
// with the old task. The caller sets the dependencies.

import type { Body, StoredTask, Submission } from "@yardmaster/core";

export function retriedSubmission({ head }: StoredTask, payload: Body): Submission {
  const { queue, priority } = head;
  const { attempts, failures, attemptTimeoutMs } = head.policy;
  return {
    queue,
    payload,
    priority,
    attempts,
    failures,
    ...(attemptTimeoutMs > 0 && { attemptTimeoutMs }),
    ...(head.relations?.group !== undefined && { group: head.relations.group }),
    ...(head.relations?.ifFailed === "run" && { ifFailed: "run" }),
    retryOf: head.id,
  };
}
