// The overview: problems, figures, the yard, the stream in small, and what failed. It answers
// whether the yard is well and, if not, what to do.

import type { Failures, Figures, History, Series } from "../live/api-shapes.js";
import { tasksLink } from "../live/navigation.js";
import { getJson } from "../live/session.js";
import { usePolled, useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { count, counted, rate } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { figureAge } from "../model/time.js";
import { QueueName } from "../parts/controls.js";
import { ChevronIcon } from "../parts/icons.js";
import { Problems } from "../parts/problems.js";
import { Bars, Sparkline } from "../parts/sparkline.js";
import { usePhone, useYardList } from "../parts/theme.js";
import { FirstRun } from "./first-run.js";
import { MiniStream } from "./mini-stream.js";
import { YardDrawing } from "./yard-drawing.js";
import { YardList } from "./yard-list.js";

export function OverviewView() {
  useRefresh(4);
  const isPhone = usePhone();
  const isList = useYardList();
  const history = usePolled("history", 1_000, () => getJson<History>("v1/history?span=5m"));
  if (yard.figures === undefined)
    return (
      <>
        <h1 class="hidden-text">Overview</h1>
        <p class="empty not-yet">Reading the state of the yard…</p>
      </>
    );
  if (isFirstRun(history.answer)) return <FirstRun />;
  return (
    <>
      <h1 class="hidden-text">Overview</h1>
      <Problems />
      <Tiles series={history.answer?.series[0]} />
      {isList ? <YardList /> : <YardDrawing />}
      {!isPhone && (
        <div class="lower">
          <MiniStream />
          <FailureSummary />
        </div>
      )}
    </>
  );
}

/**
 * Once there was work, the first run is over: figures are gathered, and one may lag behind another.
 */
let hasSeenWork = false;

/** Until the first task of this dispatcher is done. */
function isFirstRun(history: History | undefined): boolean {
  const figures = yard.figures;
  if (hasSeenWork || !figures || !history) return false;
  hasSeenWork = !isUntouched(figures, history);
  return !hasSeenWork;
}

function isUntouched(figures: Figures, history: History): boolean {
  const everDone = history.series[0]?.done.some((done) => (done ?? 0) > 0) ?? false;
  const isYoung = yard.now() - Date.parse(figures.startedAt) < 300_000;
  return isEmpty() && !everDone && figures.done === 0 && (isYoung || figures.workers === 0);
}

function isEmpty(): boolean {
  const { waiting = 0, running = 0, failed = 0 } = yard.figures ?? {};
  return failed === 0 && waiting + running <= 1;
}

function Tiles({ series }: { series: Series | undefined }) {
  const figures = yard.figures;
  const isPhone = usePhone();
  if (!figures) return null;
  const first = series?.waiting.find((value) => value !== null) ?? figures.waiting;
  const growth = figures.waiting - first;
  const busy = figures.workers - figures.workersIdle;
  const oldestMs = figures.oldestAt === null ? undefined : yard.now() - Date.parse(figures.oldestAt);
  const oldest =
    figures.oldestTask === null ? tasksLink("state:waiting") : routeText("task", figures.oldestTask);
  return (
    <section class="card tiles" aria-label="Figures">
      <Tile
        label="Waiting"
        figure={count(figures.waiting)}
        aside={`${growth < 0 ? "−" : "+"}${count(Math.abs(growth))} in 5 min`}
        href={tasksLink("state:waiting")}
        spark={<Sparkline values={thinned(series?.waiting)} colour="var(--muted)" />}
      />
      <Tile
        label="Running"
        figure={count(figures.running)}
        aside={`${count(busy)} of ${counted(figures.workers, "worker")} busy`}
        href={tasksLink("state:running")}
        spark={<Sparkline values={thinned(series?.running)} colour="var(--accent)" />}
      />
      <Tile
        label="Done"
        figure={rate(figures.donePerSecond)}
        unit="/s"
        aside={`${count(figures.done)} in 5 min`}
        href={tasksLink("state:done since:5m")}
        spark={<Sparkline values={thinned(series?.done)} colour="var(--done)" />}
      />
      <Tile
        label="Failed"
        figure={rate(figures.failedPerSecond)}
        unit="/s"
        isBad={figures.failedPerSecond > 0}
        aside={`${count(figures.failed)} in 5 min`}
        href={routeText("failures")}
        spark={<Bars values={summed(series?.failed)} colour="var(--fail)" />}
      />
      <Tile
        label={isPhone ? "Oldest" : "Oldest waiting"}
        figure={oldestMs === undefined ? "—" : figureAge(Math.max(0, oldestMs))}
        aside={
          oldestMs === undefined ? "no task is ready to start" : shownLine(oldestAside(figures.oldestQueue))
        }
        href={oldest}
        spark={<Sparkline values={thinned(series?.oldestMs)} colour="var(--warn)" />}
      />
      {isPhone && (
        <Tile label="Workers" figure={count(figures.workers)} aside="" href={routeText("workers")} />
      )}
    </section>
  );
}

function oldestAside(name: string | null): string {
  if (name === null) return "";
  const queue = yard.queues.get(name);
  if (!queue) return name;
  if (queue.paused) return `${name}, paused`;
  return (queue.waitingBy.no_worker ?? 0) > 0 ? `${name}, no worker` : name;
}

function Tile(props: {
  label: string;
  figure: string;
  unit?: string;
  aside: string;
  href: string;
  isBad?: boolean;
  spark?: preact.ComponentChildren;
}) {
  return (
    <a class="tile" href={props.href}>
      <div class="label">{props.label}</div>
      <div class={`figure ${props.isBad ? "bad" : ""}`}>
        {props.figure}
        {props.unit && <span class="unit">{props.unit}</span>}
      </div>
      <div class="aside" title={props.aside}>
        {props.aside}
      </div>
      {props.spark}
    </a>
  );
}

/** 300 points of a second become 75: more than the pixels there are would be noise. */
function thinned(values: readonly (number | null)[] | undefined): (number | null)[] {
  return grouped(values, (sum, size) => sum / size);
}

function summed(values: readonly (number | null)[] | undefined): (number | null)[] {
  return grouped(values, (sum) => sum);
}

function grouped(
  values: readonly (number | null)[] = [],
  fold: (sum: number, size: number) => number,
): (number | null)[] {
  const size = Math.max(1, Math.ceil(values.length / 60));
  const made: (number | null)[] = [];
  for (let at = 0; at < values.length; at += size) {
    const group = values.slice(at, at + size).filter((value) => value !== null);
    made.push(
      group.length === 0
        ? null
        : fold(
            group.reduce((sum, value) => sum + value, 0),
            group.length,
          ),
    );
  }
  return made;
}

function FailureSummary() {
  const { answer, fault } = usePolled("failures", 2_000, () => getJson<Failures>("v1/failures?span=1h"));
  const kinds = answer?.items.filter((kind) => !kind.isExpired) ?? [];
  return (
    <section class="card failure-summary" aria-label="Failures, last hour">
      <div class="card-head">
        <h2>Failures, last hour</h2>
        <a class="right faint row" href={routeText("failures")}>
          {kinds.length === 0
            ? "open"
            : kinds.length === 1
              ? "1 kind"
              : `all ${counted(kinds.length, "kind")}`}{" "}
          <ChevronIcon />
        </a>
      </div>
      {kinds.length === 0 && (
        <p class="empty">
          {fault && !answer ? "Could not be loaded." : answer ? "Nothing failed in the last hour." : ""}
        </p>
      )}
      <ul>
        {kinds.slice(0, 5).map((kind) => (
          <li key={kind.id}>
            <a href={routeText("failures", kind.id)}>
              <b class="number">{count(kind.count)}</b>
              <span class="truncate">{shownLine(`${kind.code}: ${kind.words}`)}</span>
              <QueueName name={kind.queue} />
              <Bars values={halved(kind.trend)} colour="var(--fail)" width={76} height={18} isSpread />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function halved(values: readonly number[]): number[] {
  const made: number[] = [];
  for (let at = 0; at < values.length; at += 3) {
    made.push((values[at] ?? 0) + (values[at + 1] ?? 0) + (values[at + 2] ?? 0));
  }
  return made;
}
