// Alerts, figures, history and failures in the form of the API.

import type { Alert } from "../watching/alerts.js";
import type { FailureList, KindView, Span } from "../watching/failure-kinds.js";
import type { HistoryView } from "../watching/history.js";
import type { Figures } from "../watching/lookout.js";
import { rounded } from "./queue-json.js";
import { timeJson, timeOrNull } from "./task-json.js";

export function alertJson({ since, ...alert }: Alert) {
  return { ...alert, since: timeOrNull(since) };
}

export function figuresJson({ at, oldest, startedAt, ...figures }: Figures) {
  return {
    at: timeJson(at),
    ...figures,
    inPerSecond: rounded(figures.inPerSecond),
    donePerSecond: rounded(figures.donePerSecond),
    failedPerSecond: rounded(figures.failedPerSecond),
    oldestAt: timeOrNull(oldest?.at),
    oldestTask: oldest === undefined ? null : String(oldest.task),
    oldestQueue: oldest?.queue ?? null,
    startedAt: timeJson(startedAt),
  };
}

export function historyJson({ span, stepMs, from, to, series, untracked }: HistoryView) {
  return {
    span,
    stepMs,
    from: timeJson(from),
    to: timeJson(to),
    series: series.map(({ name, points }) => ({ name, ...points })),
    untracked,
  };
}

export function failuresJson({ items, rest, tasks, kinds, stepMs }: FailureList, span: Span) {
  return { span, stepMs, tasks, kinds, items: items.map(kindJson), rest };
}

function kindJson({ task, firstAt, lastAt, worker, shares, ...kind }: KindView) {
  return {
    ...kind,
    task: String(task),
    firstAt: timeJson(firstAt),
    lastAt: timeJson(lastAt),
    worker: worker ?? null,
    shares: shares.map((share) => ({ ...share, doneShare: rounded(share.doneShare) })),
  };
}
