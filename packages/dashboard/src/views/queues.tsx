// Depth, rates, why tasks wait, and who works: a row for each queue, and one of them in full.

import { useEffect, useRef, useState } from "preact/hooks";
import { drainQueue, pauseQueue, resumeQueue } from "../live/actions.js";
import type { History, Queue, Series } from "../live/api-shapes.js";
import { useKeys } from "../live/keys.js";
import { changeQuery, go, tasksLink, useRoute } from "../live/navigation.js";
import { mayDo, useRights } from "../live/rights.js";
import { getJson } from "../live/session.js";
import { usePolled, useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { count, counted, rate } from "../model/numbers.js";

import { signalOf, troubleRank, whyParts } from "../model/queue-signals.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { clockMinutes, duration } from "../model/time.js";
import { ArmedButton, Field, QueueName, Segments } from "../parts/controls.js";
import { useDismiss } from "../parts/dismiss.js";
import { SearchIcon } from "../parts/icons.js";
import { useRowWindow } from "../parts/row-window.js";
import { Sign } from "../parts/sign.js";
import { Sparkline } from "../parts/sparkline.js";
import { useDark, usePhone } from "../parts/theme.js";
import { QueueDetail } from "./queue-detail.js";

const spans = [
  { value: "5m", label: "5 min" },
  { value: "1h", label: "1 h" },
  { value: "24h", label: "24 h" },
] as const;
const shownMax = 100;
const rowPx = 42;
/** More than the height of a queue's menu. */
const menuPx = 130;

/** With more rows the plots below them are out of sight. */
const shortMax = 12;

export function QueuesView() {
  useRefresh(2);
  const { name, query } = useRoute();
  const span = spans.find(({ value }) => value === query.get("span"))?.value ?? "5m";
  const filter = (query.get("q") ?? "").toLowerCase();
  const now = yard.now();
  const isAsked = yard.areQueuesCut && filter !== "";
  const found = usePolled(isAsked ? `queues like ${filter}` : "", isAsked ? 2_000 : 0, async () =>
    isAsked
      ? getJson<{ items: readonly Queue[] }>(
          `v1/queues?${new URLSearchParams({ q: filter, limit: String(shownMax) })}`,
        )
      : undefined,
  );
  const all = isAsked ? [...(found.answer?.items ?? [])] : [...yard.queues.values()];
  const looked = usePolled(isNamed(name) ? `queue ${name}` : "", isNamed(name) ? 2_000 : 0, async () =>
    isNamed(name) ? getJson<Queue>(`v1/queues/${encodeURIComponent(name)}`) : undefined,
  );
  const named = yard.queues.get(name) ?? (isNamed(name) ? looked.answer : undefined);
  const listed = all
    .filter((queue) => queue.name.toLowerCase().includes(filter))
    .sort(
      (a, b) => troubleRank(signalOf(a, now)) - troubleRank(signalOf(b, now)) || (a.name < b.name ? -1 : 1),
    )
    .slice(0, shownMax);
  // The queue that the address names is there, however many are in more trouble.
  const isBeyond = named !== undefined && filter === "" && listed.every((queue) => queue.name !== name);
  const queues = isBeyond ? [named, ...listed.slice(0, shownMax - 1)] : listed;
  const names = queues.map((queue) => queue.name).sort();
  const asked = names.map(encodeURIComponent).join(",");
  const { answer } = usePolled(`queues ${span} ${asked}`, span === "5m" ? 1_000 : 10_000, async () =>
    names.length === 0 ? undefined : getJson<History>(`v1/history?span=${span}&queue=${asked}`),
  );
  const { box, from, to } = useRowWindow(queues.length, rowPx);
  const series = new Map(answer?.series.map((one) => [one.name ?? "", one]));
  const chosen = queues.find((queue) => queue.name === name) ?? queues[0];
  // Below a long table it would not be seen.
  const isAbove = name !== "" && chosen?.name === name && queues.length > shortMax;
  useEffect(() => {
    if (isAbove) scrollTo({ top: 0 });
  }, [name, isAbove]);
  const at = queues.findIndex((queue) => queue.name === chosen?.name);
  // On a phone the list and one queue are two pages.
  const isPhone = usePhone();
  const isPage = isPhone && name !== "" && chosen?.name === name;
  const open = (queue: Queue | undefined) => queue && go("queues", queue.name, Object.fromEntries(query));
  useKeys({
    j: () => open(queues[at + 1]),
    k: () => open(queues[at - 1]),
    enter: () => chosen && go("tasks", "", { q: `queue:${chosen.name}` }),
    p: () =>
      chosen &&
      mayDo("operate", chosen.name) &&
      void (chosen.paused ? resumeQueue(chosen.name) : pauseQueue(chosen.name)),
  });
  if (yard.queues.size === 0) {
    return (
      <section class="card empty">
        <h1>No queue yet</h1>
        <p>
          A task or a worker makes one.{" "}
          <a class="link" href={routeText("try")}>
            Submit a task
          </a>
        </p>
      </section>
    );
  }
  if (isPage)
    return (
      <>
        <h1 class="hidden-text">Queue {shownLine(name)}</h1>
        <QueueDetail queue={chosen} series={series.get(name)} history={answer} />
      </>
    );
  return (
    <>
      <div class="title">
        <h1>
          {counted(yard.figures?.queues ?? all.length, "queue")},{" "}
          {counted(yard.figures?.waiting ?? 0, "task")} wait
        </h1>
        <span class="muted">{summary(all, now)}</span>
        <span class="right">
          <Field
            label="Filter queues"
            icon={<SearchIcon />}
            value={query.get("q") ?? ""}
            onInput={(value) => changeQuery("queues", { q: value })}
          />
          <Segments
            label="Span"
            value={span}
            choices={spans}
            onChoose={(value) => changeQuery("queues", { span: value === "5m" ? undefined : value })}
          />
        </span>
      </div>
      {isAbove && !isPhone && (
        <QueueDetail queue={chosen} series={series.get(chosen.name)} history={answer} />
      )}
      {queues.length === 0 && !(isAsked && found.isLoading) && (
        <section class="card empty">No queue's name has “{shownLine(filter)}”.</section>
      )}
      {queues.length > 0 && (
        <section class="card scroll-x" aria-label="Queues" ref={box}>
          <table class="table queues-table">
            <thead>
              <tr>
                <th>queue</th>
                <th>signal</th>
                <th class="number">waiting</th>
                <th class="desk">{spans.find(({ value }) => value === span)?.label}</th>
                <th class="desk">why they wait</th>
                <th class="desk number">oldest</th>
                <th class="desk number">in/s</th>
                <th class="desk number">done/s</th>
                <th class="desk number">running</th>
                <th class="desk">worked by</th>
                <th>
                  <span class="hidden-text">actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {from > 0 && (
                <tr class="space">
                  <td colSpan={11} style={{ height: from * rowPx }} />
                </tr>
              )}
              {queues.slice(from, to).map((queue) => (
                <QueueRow
                  key={queue.name}
                  queue={queue}
                  series={series.get(queue.name)}
                  isChosen={!isPhone && queue.name === chosen?.name}
                  onOpen={() => open(queue)}
                />
              ))}
              {to < queues.length && (
                <tr class="space">
                  <td colSpan={11} style={{ height: (queues.length - to) * rowPx }} />
                </tr>
              )}
            </tbody>
          </table>
          {all.length > shownMax && filter === "" && (
            <p class="empty">
              {count(Math.max(all.length, yard.figures?.queues ?? 0) - shownMax)} more; the filter finds them.
            </p>
          )}
        </section>
      )}
      {chosen && !isPhone && !isAbove && (
        <QueueDetail queue={chosen} series={series.get(chosen.name)} history={answer} />
      )}
    </>
  );
}

/** True if the address names a queue that the page was not told of. */
function isNamed(name: string): boolean {
  return name !== "" && yard.areQueuesCut && !yard.queues.has(name);
}

function summary(queues: readonly Queue[], now: number): string {
  const sums = new Map<string, number>();
  for (const queue of queues) {
    const signal = signalOf(queue, now);
    sums.set(signal, (sums.get(signal) ?? 0) + 1);
  }
  const parts = ["stopped", "paused", "behind", "draining"].flatMap((signal) => {
    const many = sums.get(signal);
    return many ? [`${many} ${signal}`] : [];
  });
  return parts.length === 0 ? "all clear" : parts.join(", ");
}

function QueueRow(props: {
  queue: Queue;
  series: Series | undefined;
  isChosen: boolean;
  onOpen: () => void;
}) {
  const { queue, series, isChosen } = props;
  const isDark = useDark();
  const now = yard.now();
  const signal = signalOf(queue, now);
  const tone = signal === "stopped" ? "fail" : signal === "paused" || signal === "behind" ? "warn" : "muted";
  const tasks = `queue:${queue.name}`;
  return (
    <tr class={isChosen ? "chosen" : ""} onClick={props.onOpen}>
      <td class="name">
        <QueueName name={queue.name} href={routeText("queues", queue.name)} />
      </td>
      <td>
        <span class={`with-sign ${tone}`}>
          <Sign name={signal} label={signal} />{" "}
          <span class="desk" aria-hidden="true">
            {signal}
          </span>
        </span>
      </td>
      <td class="number waiting">
        <a href={tasksLink(`${tasks} state:waiting`)}>{count(queue.waiting)}</a>
      </td>
      <td class="desk">
        {series === undefined ? (
          <span class="faint" title="History is kept for the 200 busiest queues.">
            not kept
          </span>
        ) : (
          <Sparkline
            values={thinned(series.waiting)}
            colour={signal === "stopped" ? "var(--fail)" : "var(--muted)"}
            width={100}
            height={26}
          />
        )}
      </td>
      <td class="desk muted">
        <WhyCell queue={queue} />
      </td>
      <td class={`desk number ${signal === "stopped" ? "fail strong" : ""}`}>
        {queue.oldestAt === null ? (
          "—"
        ) : queue.oldestTask === null ? (
          duration(now - Date.parse(queue.oldestAt))
        ) : (
          <a href={routeText("task", queue.oldestTask)}>
            {duration(Math.max(0, now - Date.parse(queue.oldestAt)))}
          </a>
        )}
      </td>
      <td class="desk number">{rate(queue.inPerSecond[1])}</td>
      <td class="desk number">
        <a href={tasksLink(`${tasks} state:done since:5m`)}>{rate(queue.donePerSecond[1])}</a>
      </td>
      <td class="desk number">
        <a href={tasksLink(`${tasks} state:running`)}>{count(queue.running)}</a>
      </td>
      <td class="desk">
        <WorkedBy queue={queue} isDark={isDark} />
      </td>
      <td class="number">
        <QueueButtons queue={queue} />
      </td>
    </tr>
  );
}

function WhyCell({ queue }: { queue: Queue }) {
  const parts = whyParts(queue);
  if (parts.length === 0) return <>nothing waits</>;
  const tone = (code: string) =>
    code === "no_worker" || code === "does_not_fit" ? "fail" : code === "paused" ? "warn" : "";
  return (
    <span class="row">
      {parts.map(({ code, words }) => (
        <a key={code} class={tone(code)} href={tasksLink(`queue:${queue.name} state:waiting`)}>
          {code === "delayed" && queue.nextAt
            ? `${words} to ${clockMinutes(Date.parse(queue.nextAt))}`
            : words}
        </a>
      ))}
    </span>
  );
}

function WorkedBy({ queue }: { queue: Queue; isDark: boolean }) {
  const doors = Object.entries(queue.workersBy).filter(([, many]) => many > 0);
  if (doors.length === 0)
    return (
      <span class={(queue.waitingBy.no_worker ?? 0) > 0 ? "fail" : "muted"}>
        {(queue.waitingBy.no_worker ?? 0) > 0 ? "nobody" : "nobody yet"}
      </span>
    );
  const words =
    doors.length === 1
      ? `${doors[0]?.[0]}, ${counted(doors[0]?.[1] ?? 0, "worker")}`
      : doors.map(([door, many]) => `${door} ${many}`).join(", ");
  return <a href={routeText("workers", "", { q: queue.name })}>{words}</a>;
}

/** 300 points are more than the pixels of a small line. */
function thinned(values: readonly (number | null)[] = []): (number | null)[] {
  const step = Math.max(1, Math.ceil(values.length / 50));
  return values.filter((_, at) => at % step === step - 1);
}

/** Relative to the window, because the table cuts off everything below its last row. */
function placeBelow(anchor: HTMLElement | null): Record<string, string> {
  if (!anchor) return {};
  const { top, right, bottom } = anchor.getBoundingClientRect();
  const isLow = bottom + menuPx > innerHeight;
  const down = isLow ? { bottom: `${innerHeight - top}px` } : { top: `${bottom}px` };
  return { right: `${document.documentElement.clientWidth - right}px`, ...down };
}

export function QueueButtons({ queue }: { queue: Queue }) {
  const [isOpen, open] = useState(false);
  const menu = useRef<HTMLSpanElement>(null);
  useDismiss(menu, isOpen, () => open(false));
  const isOff = yard.link === "lost";
  const isHeld = queue.paused || queue.draining;
  useRights();
  const mayOperate = mayDo("operate", queue.name);
  return (
    <span class="row" onClick={(event) => event.stopPropagation()}>
      <span class="grow" />
      {mayOperate && (
        <button
          type="button"
          class={`button ${isHeld ? "strong" : ""}`}
          disabled={isOff}
          onClick={() => void (isHeld ? resumeQueue(queue.name) : pauseQueue(queue.name))}
        >
          {isHeld ? "Resume" : "Pause"}
        </button>
      )}
      <span class="menu desk" ref={menu}>
        <button
          type="button"
          class="button plain"
          aria-label={`More for ${queue.name}`}
          aria-expanded={isOpen}
          onClick={() => open(!isOpen)}
        >
          ⋯
        </button>
        {isOpen && (
          <span class="floating" style={placeBelow(menu.current)}>
            {mayOperate && (
              <ArmedButton
                label="Drain: accept nothing more"
                armed={`Drain it: ${count(queue.waiting)} wait`}
                onConfirm={() => {
                  open(false);
                  void drainQueue(queue.name);
                }}
              />
            )}
            {mayDo("submit", queue.name) && (
              <a class="button" href={routeText("try", "", { queue: queue.name })}>
                Submit a task
              </a>
            )}
            <a class="button" href={tasksLink(`queue:${queue.name}`)}>
              See its tasks
            </a>
          </span>
        )}
      </span>
    </span>
  );
}
