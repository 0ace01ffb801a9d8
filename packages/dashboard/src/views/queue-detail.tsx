// One queue in full: how it stands in a sentence, its plots, and its train graph.

import type { History, Queue, Series } from "../live/api-shapes.js";
import { tasksLink } from "../live/navigation.js";
import { yard } from "../live/yard.js";
import { count } from "../model/numbers.js";
import { colourAt } from "../model/queue-colours.js";
import { reasonText, signalOf, trackNote } from "../model/queue-signals.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { duration } from "../model/time.js";
import { Plot } from "../parts/plot.js";
import { inks, useDark } from "../parts/theme.js";
import { QueueTrains } from "./queue-trains.js";
import { QueueButtons } from "./queues.js";

export function QueueDetail({
  queue,
  series,
  history,
}: {
  queue: Queue;
  series: Series | undefined;
  history: History | undefined;
}) {
  const isDark = useDark();
  const colour = colourAt(yard.colours.indexOf(queue.name), isDark);
  const colours = inks();
  const from = history ? Date.parse(history.from) : 0;
  const stepMs = history?.stepMs ?? 1_000;
  const perSecond = (values: readonly (number | null)[]) =>
    smoothed(values).map((value) => (value === null ? null : value / (stepMs / 1000)));
  return (
    <section class="card queue-detail" aria-label={`Queue ${queue.name}`}>
      <div class="title">
        <span class="swatch" style={{ background: colour }} />
        <h2>{shownLine(queue.name)}</h2>
        <span class="grow">{shownLine(sentence(queue))}</span>
        <span class="right">
          <a
            class="button"
            href={tasksLink(`queue:${queue.name}${queue.waiting === 0 ? "" : " state:waiting"}`)}
          >
            {queue.waiting === 0 ? "See its tasks" : `See the ${count(queue.waiting)}`}
          </a>
          <a class="button" href={routeText("try", "", { queue: queue.name })}>
            Submit a task
          </a>
          <QueueButtons queue={queue} />
        </span>
      </div>
      <div class="queue-plots">
        <div>
          <div class="plot-head">
            <h3>Waiting</h3>
          </div>
          {series ? (
            <Plot
              label={`Waiting tasks of ${queue.name}`}
              from={from}
              stepMs={stepMs}
              lines={[{ values: series.waiting, colour, isFilled: true }]}
            />
          ) : (
            <NoHistory />
          )}
        </div>
        <div>
          <div class="plot-head">
            <h3>Tasks a second</h3>
            <span class="plot-key">
              <svg width="20" height="4" aria-hidden="true">
                <path d="M0 2h20" stroke="var(--text)" stroke-width="1.6" stroke-dasharray="4 3" />
              </svg>{" "}
              in
            </span>
            <span class="plot-key">
              <svg width="20" height="4" aria-hidden="true">
                <path d="M0 2h20" stroke="var(--done)" stroke-width="1.6" />
              </svg>{" "}
              done
            </span>
          </div>
          {series ? (
            <Plot
              label={`Tasks of ${queue.name} a second, in and done`}
              from={from}
              stepMs={stepMs}
              isRate
              lines={[
                { values: perSecond(series.in), colour: colours.text, isDashed: true },
                { values: perSecond(series.done), colour: colours.done },
              ]}
            />
          ) : (
            <NoHistory />
          )}
        </div>
        <QueueTrains queue={queue.name} colour={colour} />
      </div>
    </section>
  );
}

function NoHistory() {
  return <p class="empty">No history yet: it is kept for the 200 busiest queues.</p>;
}

/** Means of five steps: single seconds of a slow queue are only noise. */
function smoothed(values: readonly (number | null)[]): (number | null)[] {
  return values.map((value, at) => {
    if (value === null) return null;
    const near = values.slice(Math.max(0, at - 4), at + 1).filter((one) => one !== null);
    return near.reduce((sum, one) => sum + one, 0) / near.length;
  });
}

function sentenceCase(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The dispatcher's own words where it sees a problem. */
function sentence(queue: Queue): string {
  const alert = yard.problems().find(({ subject }) => subject.queue === queue.name);
  if (alert) return sentenceCase(alert.words.replace(`${queue.name}: `, ""));
  const signal = signalOf(queue, yard.now());
  const note = trackNote(queue, signal, yard.now());
  if (note !== "") return note;
  if (queue.waiting === 0)
    return queue.workers === 0 ? "Nothing waits, and no worker serves it." : "Nothing waits.";
  const oldest =
    queue.oldestAt === null
      ? ""
      : `; the oldest task waits ${duration(Math.max(0, yard.now() - Date.parse(queue.oldestAt)))}`;
  return `${count(queue.waiting)} wait: ${Object.keys(queue.waitingBy).map(reasonText).join(", ")}${oldest}.`;
}
