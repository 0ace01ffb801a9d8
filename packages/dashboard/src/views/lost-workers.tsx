// Workers that were lost in the last hour: why, and what became of their tasks.

import { useState } from "preact/hooks";
import type { Lost } from "../live/api-shapes.js";
import { tasksLink } from "../live/navigation.js";
import { getJson } from "../live/session.js";
import { usePolled } from "../live/ticker.js";
import { count, counted } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { isTaskState } from "../model/task-states.js";
import { clock, duration, fullTime } from "../model/time.js";
import { Sign } from "../parts/sign.js";

/** The latest losses say most. */
const lostShown = 8;

export function LostWorkers() {
  const { answer } = usePolled("lost", 2_000, () => getJson<{ items: readonly Lost[] }>("v1/workers:lost"));
  const [isOpen, open] = useState(false);
  const items = answer?.items ?? [];
  if (items.length === 0) return null;
  const shown = isOpen ? items : items.slice(0, lostShown);
  return (
    <>
      <h2 class="row">
        Lost in the last hour <span class="aside">the name, why, and what became of the tasks it held</span>
      </h2>
      <section class="card scroll-x" aria-label="Lost in the last hour">
        <table class="table lost-table">
          <tbody>
            {shown.map((lost) => (
              <tr key={`${lost.id} ${lost.at}`}>
                <td>
                  <span class="worker-name">
                    <Sign name="failed" label="lost" />
                    <a class="name" href={tasksLink(`worker:${lost.id}`)} title={shownLine(lost.id)}>
                      {shownLine(lost.id)}
                    </a>
                    <span class="mono muted desk">{shownLine(lost.address)}</span>
                  </span>
                </td>
                <td class="number muted" title={fullTime(Date.parse(lost.at))}>
                  {clock(Date.parse(lost.at))}
                </td>
                <td>
                  {shownLine(lost.words)}{" "}
                  {lost.backAt !== null &&
                    `It came back after ${duration(Date.parse(lost.backAt) - Date.parse(lost.at))}.`}
                </td>
                <td>
                  <Became lost={lost} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {items.length > shown.length && (
          <p class="lost-more">
            <button type="button" class="link-button" onClick={() => open(true)}>
              {count(items.length - shown.length)} more that were lost earlier
            </button>
          </p>
        )}
      </section>
    </>
  );
}

function Became({ lost }: { lost: Lost }) {
  const [only] = lost.tasks;
  if (lost.held === 0 || !only) return <span class="muted">it held no task</span>;
  if (lost.held === 1) {
    const words =
      only.state === "done"
        ? `was done${only.worker ? ` by ${only.worker.split("/").slice(1).join("/")}` : ""}`
        : only.state === "waiting"
          ? "waits"
          : only.state === "running"
            ? "runs again"
            : only.state === "cancelled"
              ? "was cancelled"
              : only.state;
    return (
      <span class="with-sign">
        <Sign name={only.state} />
        <span>
          <a href={routeText("task", only.id)}>Task {only.id}</a> {shownLine(words)}
        </span>
      </span>
    );
  }
  const parts = Object.entries(lost.became).filter(([state, many]) => many > 0 && isTaskState(state));
  return (
    <span>
      {counted(lost.held, "task")}: {parts.map(([state, many]) => `${count(many)} ${state}`).join(", ")}
    </span>
  );
}
