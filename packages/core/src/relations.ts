// The relations in a submission, as the task's head records them.

import type { TaskRelations } from "./records.js";
import type { Submission } from "./submission.js";

const noTasks: TaskRelations["after"] = [];

/** Undefined for a submission that names none, so that an ordinary task costs nothing more. */
export function relationsOf(submission: Submission): TaskRelations | undefined {
  const { after, group, schedule, retryOf, by } = submission;
  const depends = after !== undefined && after.length > 0;
  if (!depends && group === undefined && schedule === undefined && retryOf === undefined)
    return by === undefined ? undefined : onlyBy(by);
  return {
    after: depends ? after : noTasks,
    ifFailed: submission.ifFailed ?? "cancel",
    group,
    schedule,
    retryOf,
    ...(by !== undefined && { by }),
  };
}

/** The last one made: tasks of one principal follow each other and share the object. */
let lastOnlyBy: TaskRelations | undefined;

/** The relations of a task of which only the principal is known. */
export function onlyBy(by: string): TaskRelations {
  if (lastOnlyBy?.by !== by) {
    lastOnlyBy = {
      after: noTasks,
      ifFailed: "cancel",
      group: undefined,
      schedule: undefined,
      retryOf: undefined,
      by,
    };
  }
  return lastOnlyBy;
}
