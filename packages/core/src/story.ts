// A task's story as people read it. The story of an ordinary task (accepted, assigned once, done or
// failed) is not stored but derived from its records.

import type { StoryEntry, TaskHead, TaskProgress } from "./records.js";

/** The cause in the first entry of a story. */
export function submittedCause(by: string | undefined): string {
  return by === undefined ? "submitted" : `submitted by ${by}`;
}

/**
 * A task's story. The story of an ordinary task (accepted, assigned once, done or failed) is not
 * stored but derived here.
 */
export function storyOf(head: TaskHead, progress: TaskProgress | undefined): readonly StoryEntry[] {
  if (progress?.story !== undefined) return progress.story;
  const cause = submittedCause(head.relations?.by);
  const story: StoryEntry[] = [
    { at: head.submittedAt, to: "waiting", cause, attempt: undefined, worker: undefined },
  ];
  if (progress?.startedAt === undefined) return story;
  const { attempt, worker, state, finishedAt } = progress;
  story.push({ at: progress.startedAt, to: "running", cause: "assigned", attempt, worker });
  if (finishedAt !== undefined) story.push({ at: finishedAt, to: state, cause: state, attempt, worker });
  return story;
}
