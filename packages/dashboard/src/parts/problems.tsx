// What is wrong, in the dispatcher's words, with names as links and at most two buttons beside
// each.

import { useState } from "preact/hooks";
import { drainWorker, resumeQueue } from "../live/actions.js";
import type { Alert, AlertPart, Fix } from "../live/api-shapes.js";
import { tasksLink } from "../live/navigation.js";
import { mayDo } from "../live/rights.js";
import { yard } from "../live/yard.js";
import { count } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { clockMinutes, duration, fullTime } from "../model/time.js";
import { ArmedButton } from "./controls.js";
import { ChevronIcon } from "./icons.js";
import { Sign, type SignName } from "./sign.js";
import { StartWorker } from "./start-worker.js";
import { usePhone } from "./theme.js";

/** More are behind a line: three can be read at a glance, on a phone one. */
const shownMax = 3;
const shownOnPhone = 1;
/** The dispatcher tells of at most this many. */
const toldMax = 100;

export function Problems() {
  const [isOpen, open] = useState(false);
  const isPhone = usePhone();
  const problems = yard.problems();
  if (problems.length === 0) return <AllWell />;
  const shown = isOpen ? problems : problems.slice(0, isPhone ? shownOnPhone : shownMax);
  const rest = problems.slice(shown.length);
  return (
    <section class="card" aria-label="Problems">
      <ul class="problems">
        {shown.map((alert, at) => (
          <ProblemRow key={alert.id} alert={alert} isFirst={at === 0} />
        ))}
        {rest.length > 0 && (
          <li>
            <Sign name={signOf(rest[0] as Alert)} />
            <button type="button" class="button plain grow more" onClick={() => open(true)}>
              <span class="truncate">
                {problems.length >= toldMax ? `At least ${count(rest.length)}` : count(rest.length)} more:{" "}
                {shownLine(subjects(rest))}
              </span>
              <ChevronIcon />
            </button>
          </li>
        )}
      </ul>
    </section>
  );
}

function subjects(alerts: readonly Alert[]): string {
  const names = alerts.map(
    ({ subject, code }) => subject.queue ?? subject.worker ?? subject.peer ?? code.replaceAll("_", " "),
  );
  return [...new Set(names)].slice(0, 4).join(", ");
}

function AllWell() {
  const oldestAt = yard.figures?.oldestAt;
  const words = oldestAt
    ? `Nothing is wrong. The oldest task waits ${duration(yard.now() - Date.parse(oldestAt))}.`
    : "Nothing is wrong. No task waits for a worker.";
  return (
    <section class="card" aria-label="Problems">
      <ul class="problems">
        <li>
          <Sign name="done" />
          <span class="sentence">{words}</span>
        </li>
      </ul>
    </section>
  );
}

export function signOf(alert: Alert): SignName {
  if (alert.code === "paused") return "paused";
  return alert.severity;
}

function ProblemRow({ alert, isFirst }: { alert: Alert; isFirst: boolean }) {
  return (
    <li>
      <Sign name={signOf(alert)} size={14} label={alert.severity} />
      <span class="sentence">
        {alert.parts.map((part, at) => (
          <Part key={at} part={part} />
        ))}{" "}
        <Since since={alert.since} />
      </span>
      <span class="buttons">
        {alert.fixes.slice(0, 2).map((fix, at) => (
          <FixButton key={at} fix={fix} isPrimary={isFirst && at === 0} />
        ))}
      </span>
    </li>
  );
}

function Since({ since }: { since: string | null }) {
  if (since === null) return null;
  const at = Date.parse(since);
  const ms = yard.now() - at;
  return (
    <span class="faint tabular" title={fullTime(at)}>
      {ms < 600_000 ? duration(ms < 60_000 ? ms : Math.floor(ms / 1000) * 1000) : `since ${clockMinutes(at)}`}
    </span>
  );
}

/** A name becomes a link, a time is written as this computer's. */
function Part({ part }: { part: AlertPart }) {
  const text = shownLine(part.text);
  if (part.time !== undefined) return <>{clockMinutes(Date.parse(part.time))}</>;
  if (part.queue !== undefined) return <a href={routeText("queues", part.queue)}>{text}</a>;
  if (part.worker !== undefined) return <a href={routeText("workers", "", { q: part.worker })}>{text}</a>;
  if (part.task !== undefined) return <a href={routeText("task", part.task)}>{text}</a>;
  if (part.peer !== undefined) return <a href={routeText("wire", "", { peer: part.peer })}>{text}</a>;
  return <>{text}</>;
}

function FixButton({ fix, isPrimary }: { fix: Fix; isPrimary: boolean }) {
  const [isOpen, open] = useState(false);
  const style = `button ${isPrimary ? "primary" : ""}`;
  const label = shownLine(fix.label);
  const isOff = yard.link === "lost";
  if (fix.do === "start-worker") {
    return (
      <>
        <button type="button" class={style} disabled={isOff} onClick={() => open(true)}>
          {label}
        </button>
        {isOpen && <StartWorker queue={fix.queue ?? ""} onClose={() => open(false)} />}
      </>
    );
  }
  const isOrder = fix.do === "resume-queue" || fix.do === "drain-worker";
  if (isOrder && !mayDo("operate", fix.queue)) return null;
  if (fix.do === "resume-queue") {
    return (
      <button type="button" class={style} disabled={isOff} onClick={() => void resumeQueue(fix.queue ?? "")}>
        {label}
      </button>
    );
  }
  if (fix.do === "drain-worker") {
    const worker = fix.worker ?? "";
    const holds = yard.runningOf(worker);
    return (
      <ArmedButton
        class={isPrimary ? "primary" : ""}
        label={label}
        armed={`Drain it: ${holds} running`}
        onConfirm={() => void drainWorker(worker)}
      />
    );
  }
  return (
    <a class={style} href={linkOf(fix)}>
      {label}
    </a>
  );
}

function linkOf(fix: Fix): string {
  switch (fix.do) {
    case "show-queue":
      return routeText("queues", fix.queue ?? "");
    case "show-worker":
      return routeText("workers", "", { q: fix.worker });
    case "show-failures":
      return routeText("failures", fix.kind ?? "");
    case "show-wire":
      return routeText("wire", "", { peer: fix.peer, door: fix.door });
    default:
      return tasksLink(fix.queue === undefined ? "" : `queue:${fix.queue}`);
  }
}
