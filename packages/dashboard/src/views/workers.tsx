// The workers: their slots, the work they did, how long each has been silent, and how long it may
// be.

import { useState } from "preact/hooks";
import { drainWorker } from "../live/actions.js";
import type { Worker } from "../live/api-shapes.js";
import { useKeys } from "../live/keys.js";
import { changeQuery, go, tasksLink, useRoute } from "../live/navigation.js";
import { mayDoInAll } from "../live/rights.js";
import { getJson } from "../live/session.js";
import { usePolled, useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { count, counted } from "../model/numbers.js";
import { colourAt } from "../model/queue-colours.js";
import { routeText } from "../model/route.js";
import { shortened, shownLine } from "../model/shown-text.js";
import { labelOf } from "../model/stream-layout.js";
import { duration } from "../model/time.js";
import {
  failShare,
  openedMax,
  silenceShare,
  type WorkerGroup,
  type WorkerOrder,
  warnShare,
  workerGroups,
} from "../model/worker-groups.js";
import { ArmedButton, Field, QueueName, Segments } from "../parts/controls.js";
import { SearchIcon } from "../parts/icons.js";
import { Sign } from "../parts/sign.js";
import { WorkerLines } from "../parts/start-worker.js";
import { useDark, usePhone } from "../parts/theme.js";
import { LostWorkers } from "./lost-workers.js";

/** More than a person reads; a longer filter finds the rest. */
const foundMax = 400;

const orders = [
  { value: "door", label: "by door" },
  { value: "queue", label: "by queue" },
  { value: "flat", label: "flat" },
] as const;

export function WorkersView() {
  useRefresh(2);
  const { query } = useRoute();
  const order: WorkerOrder = orders.find(({ value }) => value === query.get("by"))?.value ?? "door";
  const filter = query.get("q") ?? "";
  const [opened, openGroup] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState(-1);
  const isPhone = usePhone();
  const isAsked = yard.areWorkersCut && filter.trim() !== "";
  const found = usePolled(isAsked ? `workers ${filter}` : "", isAsked ? 2_000 : 0, async () =>
    isAsked
      ? getJson<{ items: readonly Worker[] }>(
          `v1/workers?${new URLSearchParams({ q: filter.trim(), limit: String(foundMax) })}`,
        )
      : undefined,
  );
  const known = isAsked ? (found.answer?.items ?? []) : [...yard.workers.values()];
  const groups = workerGroups(known, yard.beats, {
    order,
    filter,
    open: opened,
    now: yard.now(),
  });
  const rows = groups.flatMap(({ shown }) => shown);
  const there = [...yard.workers.values()].filter(({ state }) => state !== "lost");
  const total = yard.areWorkersCut ? (yard.figures?.workers ?? 0) : there.length;
  const idle = yard.areWorkersCut
    ? (yard.figures?.workersIdle ?? 0)
    : there.filter(({ state }) => state === "idle").length;
  useKeys({
    j: () => setAt(Math.min(rows.length - 1, at + 1)),
    k: () => setAt(Math.max(0, at - 1)),
    enter: () => rows[at] && go("tasks", "", { q: `worker:${rows[at].id}` }),
    d: () => document.querySelector<HTMLButtonElement>(".workers-table tr.chosen .button")?.click(),
  });
  return (
    <>
      <div class="title">
        <h1>
          {there.length === 0
            ? "No worker is here"
            : `${counted(total, "worker")}, ${idle === 0 ? "none" : count(idle)} of them idle`}
        </h1>
        {(yard.figures?.workersLost ?? 0) > 0 && (
          <span class="muted">{lostWords(yard.figures?.workersLost ?? 0)} lost in the last hour</span>
        )}
        <span class="right">
          <Field
            label="Filter workers"
            icon={<SearchIcon />}
            value={filter}
            onInput={(value) => changeQuery("workers", { q: value })}
          />
          <Segments
            label="Groups"
            value={order}
            choices={orders}
            onChoose={(value) => changeQuery("workers", { by: value === "door" ? undefined : value })}
          />
        </span>
      </div>
      {there.length === 0 && (
        <section class="card empty">
          <p>Each of these lines starts one.</p>
          <WorkerLines queue={[...yard.queues.keys()][0] ?? "render"} />
        </section>
      )}
      {there.length > 0 && rows.length === 0 && !(isAsked && found.isLoading) && (
        <section class="card empty">No worker's name, address or queue has “{shownLine(filter)}”.</section>
      )}
      {rows.length > 0 && (
        <section class="card scroll-x" aria-label="Workers">
          <table class="table workers-table">
            <thead>
              <tr>
                <th>worker</th>
                <th class="desk">queues</th>
                <th class="desk">slots</th>
                <th class="number">running</th>
                <th class="desk number">done/min</th>
                <th class="desk">last heard, and its limit</th>
                <th class="desk">says of itself</th>
                <th>
                  <span class="hidden-text">actions</span>
                </th>
              </tr>
            </thead>
            {groups.map((group) => (
              <tbody key={group.name}>
                {order !== "flat" && <GroupHead group={group} order={order} isPhone={isPhone} />}
                {group.shown.map((worker) => (
                  <WorkerRow
                    key={worker.id}
                    worker={worker}
                    isFlat={order !== "door"}
                    isChosen={rows[at]?.id === worker.id}
                  />
                ))}
                {group.folded.length > 0 && (
                  <tr>
                    <td colSpan={isPhone ? 3 : 8}>
                      {group.shown.length >= openedMax ? (
                        <span class="muted">{count(group.folded.length)} more; the filter finds them.</span>
                      ) : (
                        <button
                          type="button"
                          class="link-button"
                          onClick={() => openGroup(new Set([...opened, group.name]))}
                        >
                          {count(group.folded.length)} more like these
                          {group.folded.length <= 6 &&
                            `: ${group.folded.map(({ id, door }) => shownLine(labelOf(id, door))).join(", ")}`}
                        </button>
                      )}
                    </td>
                  </tr>
                )}
              </tbody>
            ))}
          </table>
        </section>
      )}
      {yard.areWorkersCut && !isAsked && (
        <p class="aside">
          {count(there.length)} of {count(total)} workers are listed, those at work first. The filter finds
          the others.
        </p>
      )}
      <LostWorkers />
    </>
  );
}

function lostWords(many: number): string {
  return many === 1 ? "1 was" : `${count(many)} were`;
}

function GroupHead({ group, order, isPhone }: { group: WorkerGroup; order: WorkerOrder; isPhone: boolean }) {
  const addresses = order === "door" ? Object.values(yard.doors[group.name] ?? {}).join(", ") : "";
  const limits = group.shown
    .map(({ id }) => yard.beats.get(id)?.limitMs)
    .filter((limit) => typeof limit === "number");
  const limit = limits.length > 0 ? `, silence limit ${duration(Math.max(...limits))}` : "";
  return (
    <tr class="group">
      <td colSpan={isPhone ? 3 : 4}>
        <b>{shownLine(group.name)}</b> <span class="muted">{counted(group.total, "worker")}</span>
      </td>
      {!isPhone && (
        <td colSpan={4} class="number muted addresses" title={shownLine(addresses)}>
          {shownLine(addresses)}
          {addresses === "" ? "" : limit}
        </td>
      )}
    </tr>
  );
}

function WorkerRow({ worker, isFlat, isChosen }: { worker: Worker; isFlat: boolean; isChosen: boolean }) {
  const beat = yard.beats.get(worker.id);
  const running = beat?.running ?? worker.running;
  const isDraining = worker.state === "draining";
  const share = silenceShare(beat, yard.now());
  const note = isDraining
    ? `draining, ${counted(running, "task")} left`
    : share !== undefined && share > failShare
      ? "falling silent"
      : (beat?.failed ?? 0) > 0
        ? `${count(beat?.failed ?? 0)} failed`
        : "";
  const name = labelOf(worker.id, worker.door);
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <td>
        <span class="worker-name">
          <Sign name={worker.state === "lost" ? "failed" : worker.state} label={worker.state} />
          <a
            class={worker.state === "idle" ? "" : "name"}
            href={tasksLink(`worker:${worker.id}`)}
            title={shownLine(worker.id)}
          >
            {shownLine(shortened(isFlat ? worker.id : name, 60))}
          </a>
          {worker.address !== name && (
            <span class="mono muted desk">{shownLine(shortened(worker.address, 40))}</span>
          )}
          {note !== "" && <span class="warn">{note}</span>}
        </span>
        <div class="only-phone">
          <Silence id={worker.id} />
        </div>
      </td>
      <td class="desk">
        {worker.queues.length === 0 ? (
          <span class="muted">any it asks for</span>
        ) : (
          <span class="row">
            {worker.queues.slice(0, 3).map((queue) => (
              <QueueName key={queue} name={queue} href={routeText("queues", queue)} />
            ))}
            {worker.queues.length > 3 && <span class="muted">and {worker.queues.length - 3} more</span>}
          </span>
        )}
      </td>
      <td class="desk">
        <Slots worker={worker} running={running} />
      </td>
      <td class="number">
        <a href={tasksLink(`worker:${worker.id} state:running`)}>
          {count(running)} <span class="faint">{worker.pulls ? "pulls" : `of ${count(worker.slots)}`}</span>
        </a>
      </td>
      <td class="desk number">
        <a href={tasksLink(`worker:${worker.id} state:done since:5m`)}>
          {beat ? count(beat.donePerMinute) : "—"}
        </a>
      </td>
      <td class="desk">
        <Silence id={worker.id} />
      </td>
      <td class="desk muted truncate info" title={shownLine(infoWords(worker.info))}>
        {shownLine(shortened(infoWords(worker.info), 60))}
      </td>
      <td class="number">
        {!isDraining && mayDoInAll("operate", worker.queues) && (
          <ArmedButton
            label="Drain"
            armed={`Drain it: ${running} running`}
            onConfirm={() => void drainWorker(worker.id)}
          />
        )}
      </td>
    </tr>
  );
}

function infoWords(info: Worker["info"]): string {
  if (!info) return "";
  return Object.entries(info)
    .filter(([, value]) => typeof value !== "object")
    .map(([key, value]) => (value === true ? key : `${key} ${value}`))
    .join(", ");
}

function Slots({ worker, running }: { worker: Worker; running: number }) {
  const isDark = useDark();
  const colour = colourAt(yard.colours.indexOf(worker.queues[0] ?? ""), isDark);
  const slots = worker.pulls ? running : worker.slots;
  if (slots > 12) {
    return (
      <span class="slot-bar">
        <span style={{ width: `${Math.min(100, (running / slots) * 100)}%`, background: colour }} />
      </span>
    );
  }
  return (
    <span class="slots">
      {Array.from({ length: slots }, (_, slot) => (
        <span key={slot} style={slot < running ? { background: colour, borderColor: colour } : {}} />
      ))}
    </span>
  );
}

/** The bar grows with the clock, without traffic. */
function Silence({ id }: { id: string }) {
  useRefresh(4);
  const beat = yard.beats.get(id);
  if (!beat) return <span class="faint">not heard of yet</span>;
  if (beat.limitMs === null) {
    const isIdle = yard.workers.get(id)?.state === "idle";
    return <span class="muted">{isIdle ? "owes no beat" : "owes no beat while it works"}</span>;
  }
  const now = yard.now();
  const ms = Math.max(0, now - beat.lastSeenAtMs);
  const share = silenceShare(beat, now) ?? 0;
  const level = share > failShare ? "fail" : share > warnShare ? "warn" : "";
  return (
    <span class="silence">
      <span class="track">
        <span class={level === "" ? "" : `is-${level}`} style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>
      <span class="words">
        <span class={level}>
          {duration(ms < 1_000 ? Math.floor(ms / 100) * 100 : Math.floor(ms / 1000) * 1000)}
        </span>{" "}
        <span class="faint">of {duration(beat.limitMs)}</span>
      </span>
    </span>
  );
}
