// The options by which tasks are chosen, the same for every command that does.

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
    .option("--door <name>", "that came by this door")
    .option("--worker <id>", "of this worker")
    .option("--since <time>", "handed in since then: a time, or 5m, 2h, 1d ago", timeText)
    .option("--until <time>", "handed in until then", timeText)
    .option("--search <text>", "whose key, error code or beginning of the error this is");
}

export function queryOf({ queue, state, door, worker, since, until, search }: QueryFlags): TaskQuery {
  const query = { queue, state, door, worker, since, until, q: search };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
