// Progress that workers report on their attempts. The latest report of an attempt is kept in memory
// and recorded at most once a second, so that a flood of reports never becomes a flood of commits.

import type { Deadline } from "./deadlines.js";
import type { Lease } from "./lease.js";
import { reportLengthMax, type TaskReport } from "./records.js";
import { after } from "./time.js";
import type { Timed } from "./timed.js";
import type { Yard } from "./yard.js";

/** Often enough for people who watch, and a bounded cost for each running task. */
export const reportEveryMs = 1000;

/** The reports of one attempt. */
export class Reports {
  latest: TaskReport;
  /** True if the latest report is not in a record yet. */
  isFresh = false;
  /** Armed while a report was recorded less than `reportEveryMs` ago. */
  deadline: Deadline<Timed> | undefined = undefined;

  constructor(latest: TaskReport) {
    this.latest = latest;
  }
}

export function takeReport(yard: Yard, lease: Lease, { value, message }: Omit<TaskReport, "at">): void {
  if (value !== undefined && value.length > reportLengthMax) {
    yard.limitReached("reportLength");
    return;
  }
  const report: TaskReport = {
    value,
    message: message === undefined ? undefined : yard.bounded(message),
    at: yard.now.wall,
  };
  yard.counters.reports.add(lease.worker?.door.name ?? "");
  lease.reports ??= new Reports(report);
  lease.reports.latest = report;
  lease.reports.isFresh = true;
  if (lease.reports.deadline?.isArmed !== true) recordReport(yard, lease);
}

/** Records the latest report unless it is recorded already, and delays the next record. */
export function recordReport(yard: Yard, lease: Lease): void {
  const { reports } = lease;
  if (reports === undefined || !reports.isFresh) return;
  reports.isFresh = false;
  yard.step.touch(lease.task);
  const at = after(yard.now.instant, reportEveryMs);
  reports.deadline = yard.armed(reports.deadline, { type: "report", lease }, at);
}

/** The attempt is over: its last report is recorded with the end of the attempt. */
export function endReports(yard: Yard, { reports }: Lease): void {
  if (reports !== undefined) yard.disarm(reports.deadline);
}
