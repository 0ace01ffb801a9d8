// The options that select tasks, shared by all commands.

import type { TaskQuery, TaskState } from "@yardmaster/sdk";
import { type Command, Option } from "commander";
import { timeText } from "./amounts.js";

export const taskStates = ["waiting", "running", "done", "failed", "cancelled", "expired"] as const;

export interface QueryFlags {
  readonly queue?: string;
  readonly state?: TaskState;
  readonly door?: string;
  readonly worker?: string;
  readonly since?: string;
  readonly until?: string;
  readonly search?: string;
}

export function withQuery(command: Command): Command {
  return command
    .option("-q, --queue <name>", "of this queue")
    .addOption(new Option("-s, --state <state>", "in this state").choices(taskStates))
    .option("--door <name>", "submitted through this door")
    .option("--worker <id>", "of this worker")
    .option("--since <time>", "submitted since then: a time, or 5m, 2h, 1d ago", timeText)
    .option("--until <time>", "submitted until then", timeText)
    .option("--search <text>", "with this key or error code, or these words in the error");
}

export function queryOf({ queue, state, door, worker, since, until, search }: QueryFlags): TaskQuery {
  const query = { queue, state, door, worker, since, until, q: search };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
