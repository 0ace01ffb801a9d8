// The stream as a table: the newest attempts of the window, for screen readers and for people who
// prefer tables.

import { yard } from "../live/yard.js";
import { outcomes } from "../model/attempt-ring.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { clockMs, duration } from "../model/time.js";
import { QueueName } from "../parts/controls.js";
import { Sign, type SignName } from "../parts/sign.js";

const rowsMax = 200;

export function StreamTable({ from, to }: { from: number; to: number }) {
  const { ring } = yard;
  const slots: number[] = [];
  for (const slot of ring.newestFirst()) {
    const end = ring.end[slot] as number;
    if ((ring.start[slot] as number) > to || end < from) continue;
    slots.push(slot);
    if (slots.length >= rowsMax) break;
  }
  return (
    <section class="card scroll-x" aria-label="Attempts in this window">
      <table class="table">
        <thead>
          <tr>
            <th>outcome</th>
            <th>task</th>
            <th class="number">attempt</th>
            <th>queue</th>
            <th>worker</th>
            <th class="number">began</th>
            <th class="number">took</th>
            <th>reason</th>
          </tr>
        </thead>
        <tbody>
          {slots.map((slot) => (
            <AttemptRow key={ring.attempt[slot]} slot={slot} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function AttemptRow({ slot }: { slot: number }) {
  const { ring } = yard;
  const outcome = outcomes[ring.outcome[slot] as number] ?? "running";
  const end = ring.end[slot] as number;
  const start = ring.start[slot] as number;
  return (
    <tr>
      <td>
        <span class="with-sign">
          <Sign name={outcome === "returned" ? "cancelled" : (outcome as SignName)} /> {outcome}
        </span>
      </td>
      <td class="mono">
        <a href={routeText("task", String(ring.task[slot]))}>{ring.task[slot]}</a>
      </td>
      <td class="number">{ring.tryNumber[slot]}</td>
      <td>
        <QueueName name={ring.queues.name(ring.queue[slot] as number)} />
      </td>
      <td>{shownLine(ring.workers.name(ring.worker[slot] as number))}</td>
      <td class="number">{clockMs(start)}</td>
      <td class="number">{duration((Number.isNaN(end) ? yard.now() : end) - start)}</td>
      <td>{shownLine(ring.reasons.name(ring.reason[slot] as number))}</td>
    </tr>
  );
}
