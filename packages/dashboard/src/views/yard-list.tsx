// The yard without its drawing: rows with a short track each for a phone, and a table of the same
// for screen readers.

import type { Queue } from "../live/api-shapes.js";
import { useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { count, rate } from "../model/numbers.js";
import { colourAt } from "../model/queue-colours.js";
import { signalOf, trackNote, troubleRank } from "../model/queue-signals.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { duration } from "../model/time.js";
import { trainPx } from "../model/yard-layout.js";
import { yardQueues } from "../model/yard-queues.js";
import { QueueName } from "../parts/controls.js";
import { SignAt } from "../parts/sign.js";
import { useDark } from "../parts/theme.js";

export function YardList() {
  useRefresh(1);
  const isDark = useDark();
  const now = yard.now();
  const { shown } = yardQueues(yard.queues.values(), now, false);
  const ordered = [...shown].sort(
    (a, b) => troubleRank(signalOf(a, now)) - troubleRank(signalOf(b, now)) || b.waiting - a.waiting,
  );
  return (
    <section class="card" aria-label="The yard, now">
      <div class="card-head">
        <h2>The yard, now</h2>
        <span class="right faint">log scale</span>
      </div>
      <ul class="yard-rows">
        {ordered.map((queue) => (
          <YardRow
            key={queue.name}
            queue={queue}
            colour={colourAt(yard.colours.indexOf(queue.name), isDark)}
            now={now}
          />
        ))}
      </ul>
    </section>
  );
}

function YardRow({ queue, colour, now }: { queue: Queue; colour: string; now: number }) {
  const signal = signalOf(queue, now);
  const trouble = queue.running > 0 ? "" : shortNote(signal, trackNote(queue, signal, now));
  const wait = Math.min(140, trainPx(queue.waiting));
  const run = Math.min(110, trainPx(queue.running));
  const wagons = (from: number, px: number, way: number) =>
    Array.from({ length: Math.round(px / 7) }, (_, at) => (
      <rect
        key={`${from} ${at}`}
        x={way < 0 ? from - (at + 1) * 7 : from + at * 7}
        y="5"
        width="6"
        height="10"
        rx="1"
        fill={colour}
      />
    ));
  return (
    <li>
      <a href={routeText("queues", queue.name)}>
        <span class="row">
          <b class="grow truncate">{shownLine(queue.name)}</b>
          <span>
            <b>{count(queue.waiting)}</b> <span class="faint">wait</span>
          </span>
          <span class={`yard-run ${trouble === "" ? "" : signal === "stopped" ? "fail" : "warn"}`}>
            {trouble !== "" ? (
              trouble
            ) : (
              <>
                <b>{count(queue.running)}</b> <span class="faint">run</span>
              </>
            )}
          </span>
        </span>
        <svg
          width="100%"
          height="20"
          viewBox="0 0 316 20"
          preserveAspectRatio="xMinYMid meet"
          aria-hidden="true"
        >
          <path
            d={`M0 10H158${queue.running > 0 || signal === "clear" ? "M178 10H316" : ""}`}
            stroke={colour}
            stroke-width="2"
          />
          {wagons(155, wait, -1)}
          {wagons(182, run, 1)}
          <rect x="158" y="2" width="20" height="16" class="yard-clearing" />
          <SignAt name={signal} x={168} y={10} />
        </svg>
      </a>
    </li>
  );
}

function shortNote(signal: string, note: string): string {
  if (signal === "stopped") return "no worker";
  if (signal === "paused") return "paused";
  return note;
}

export function YardTable({ queues }: { queues: readonly Queue[] }) {
  const now = yard.now();
  return (
    <div class="scroll-x">
      <table class="table">
        <thead>
          <tr>
            <th>queue</th>
            <th>came in by</th>
            <th class="number">waiting</th>
            <th class="number">oldest</th>
            <th>signal</th>
            <th class="number">running</th>
            <th class="number">done/s</th>
            <th>worked by</th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <tr key={queue.name}>
              <td>
                <QueueName name={queue.name} href={routeText("queues", queue.name)} />
              </td>
              <td>{flows(queue.inBy)}</td>
              <td class="number">{count(queue.waiting)}</td>
              <td class="number">
                {queue.oldestAt === null ? "—" : duration(now - Date.parse(queue.oldestAt))}
              </td>
              <td>{signalOf(queue, now)}</td>
              <td class="number">{count(queue.running)}</td>
              <td class="number">{rate(queue.donePerSecond[1])}</td>
              <td>{flows(queue.doneBy)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function flows(by: Readonly<Record<string, number>>): string {
  const parts = Object.entries(by).map(([door, perSecond]) => `${door} ${rate(perSecond)}/s`);
  return parts.length === 0 ? "—" : parts.join(", ");
}
