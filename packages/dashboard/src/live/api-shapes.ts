// What the API answers with, as far as the page reads it. The shapes are those of the SDK: types
// only, so that nothing of it is in the page's files.

import type * as sdk from "@yardmaster/sdk";

export type {
  Alert,
  AlertFix as Fix,
  AlertPart,
  AttemptFrame,
  AttemptOutcome,
  AttemptRow,
  DoorAddresses as Doors,
  FailureKind,
  FailureShare as Share,
  Failures,
  Figures,
  History,
  HistorySeries as Series,
  LostWorker as Lost,
  StoryLine as StoryEntry,
  Traffic,
  WireField,
  WireMessage,
  WorkerBeat as Beat,
} from "@yardmaster/sdk";

export interface Queue extends Omit<sdk.Queue, "waitingBytes" | "limited"> {
  /** When the first delayed task may start, where the dispatcher says so. */
  readonly nextAt?: string | null;
}

/** The fields that change all the time come separately, as its `Beat`. */
export interface Worker
  extends Omit<
    sdk.WorkerView,
    "lastSeenAt" | "lostAt" | "limitMs" | "silentAt" | "done" | "failed" | "donePerMinute" | "info"
  > {
  readonly info: Readonly<Record<string, unknown>> | null;
}

/** A task of the list, and with its outlook where one task is shown. */
export type Task = Omit<sdk.Task, Used> & Partial<Pick<sdk.Task, Used>> & Partial<sdk.TaskOutlook>;

/** A dispatcher of an earlier version does not have these. */
type Used = "group" | "losses" | "failures" | "lossesMax" | "failuresMax" | "retries";

export interface TaskPage {
  readonly items: readonly Task[];
  readonly cursor: string | null;
}
