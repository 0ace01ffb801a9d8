// The rows of Tasks. Beyond sixty only those near the window are in the page; the rest is space.

import { useEffect, useRef } from "preact/hooks";
import type { Task } from "../live/api-shapes.js";
import type { TaskList } from "../live/task-list.js";
import { yard } from "../live/yard.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { attemptsOf } from "../model/story.js";
import { clock, duration, fullTime } from "../model/time.js";
import { QueueName } from "../parts/controls.js";
import { useRowWindow } from "../parts/row-window.js";
import { Sign } from "../parts/sign.js";
import { useNarrow, usePhone } from "../parts/theme.js";
import type { Chosen } from "./tasks.js";

const rowPx = 33;
const phoneRowPx = 62;

export function TaskTable(props: {
  list: TaskList;
  chosen: Chosen;
  at: number;
  onChoose: (chosen: Chosen) => void;
  onToggle: (task: Task) => void;
  onMove: (at: number) => void;
}) {
  const { list, chosen } = props;
  const isPhone = usePhone();
  const isNarrow = useNarrow();
  // A cell over more columns than are shown would make one more.
  const columns = isPhone ? 5 : isNarrow ? 8 : 9;
  const height = isPhone ? phoneRowPx : rowPx;
  const { box, from, to } = useRowWindow(list.items.length, height);
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => row.current?.scrollIntoView({ block: "nearest" }), [props.at]);
  const areAll = chosen === "all" || (list.items.length > 0 && list.items.every(({ id }) => chosen.has(id)));
  return (
    <section class="card" aria-label="Tasks that match" ref={box}>
      <table class="table tasks-table">
        <thead>
          <tr>
            <th>
              <input
                type="checkbox"
                aria-label="Choose all that are listed"
                checked={areAll}
                onChange={() => props.onChoose(areAll ? new Set() : new Set(list.items.map(({ id }) => id)))}
              />
            </th>
            <th>
              <span class="desk">state</span>
            </th>
            <th>task</th>
            <th>queue</th>
            <th class="desk">came in → worked by</th>
            <th class="desk number">attempts</th>
            <th class="number">submitted</th>
            <th class="desk number">ran</th>
            <th class="desk">error, or why it waits</th>
          </tr>
        </thead>
        <tbody>
          {from > 0 && (
            <tr class="space">
              <td colSpan={columns} style={{ height: from * height }} />
            </tr>
          )}
          {list.items.slice(from, to).map((task, index) => {
            const isAt = from + index === props.at;
            return (
              <tr
                key={task.id}
                ref={isAt ? row : null}
                class={isAt ? "chosen" : ""}
                style={{ height }}
                onClick={() => props.onMove(from + index)}
              >
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Choose task ${task.id}`}
                    checked={chosen === "all" || chosen.has(task.id)}
                    onChange={() => props.onToggle(task)}
                  />
                </td>
                <TaskCells task={task} />
              </tr>
            );
          })}
          {to < list.items.length && (
            <tr class="space">
              <td colSpan={columns} style={{ height: (list.items.length - to) * height }} />
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

function TaskCells({ task }: { task: Task }) {
  const submitted = Date.parse(task.submittedAt);
  const started = task.startedAt === null ? undefined : Date.parse(task.startedAt);
  const ended = task.finishedAt === null ? yard.now() : Date.parse(task.finishedAt);
  const tries = Math.max(attemptsOf(task).length, task.attempt === null ? 0 : 1);
  return (
    <>
      <td>
        <span class="with-sign">
          <Sign name={task.state} label={task.state} />{" "}
          <span class="desk" aria-hidden="true">
            {task.state}
          </span>
        </span>
      </td>
      <td class="mono">
        <a href={routeText("task", task.id)}>{task.id}</a>
      </td>
      <td>
        <QueueName name={task.queue} href={routeText("queues", task.queue)} />
        <div class="only-phone aside truncate">{shownLine(outcomeWords(task))}</div>
      </td>
      <td class="desk truncate">
        <span class="faint">{shownLine(task.door)} →</span>{" "}
        {task.worker === null ? <span class="faint">nobody yet</span> : shownLine(task.worker)}
      </td>
      <td class="desk number">
        <a href={routeText("task", task.id, { life: "story" })}>{tries}</a>
      </td>
      <td class="number" title={fullTime(submitted)}>
        {clock(submitted)}
      </td>
      <td class="desk number">{started === undefined ? "—" : duration(ended - started)}</td>
      <td class="desk truncate error-cell">
        {task.error ? (
          <>
            <b>{shownLine(task.error.code)}</b> <span class="muted">{shownLine(task.error.message)}</span>
          </>
        ) : (
          <span class="faint">{shownLine(task.why?.message ?? "")}</span>
        )}
      </td>
    </>
  );
}

function outcomeWords(task: Task): string {
  if (task.error) return `${task.error.code}: ${task.error.message}`;
  return task.why?.message ?? task.worker ?? "";
}
