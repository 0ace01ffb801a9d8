// The train graph of one queue: its newest tasks as lines from submitted to finished.

import { useEffect, useRef, useState } from "preact/hooks";
import type { TaskPage } from "../live/api-shapes.js";
import { getJson } from "../live/session.js";
import { usePolled } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { clock, clockMinutes } from "../model/time.js";
import { trainGraph } from "../model/train-graph.js";

const asked = 200;
const leftPx = 76;
const spanMax = 300_000;

export function QueueTrains({ queue, colour }: { queue: string; colour: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [boxWidth, setWidth] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(300, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { answer } = usePolled(`trains ${queue}`, 4_000, () =>
    getJson<TaskPage>(`v1/tasks?${new URLSearchParams({ queue, limit: String(asked) })}`),
  );
  const now = yard.now();
  // A slow queue's newest tasks may have ended long before what is drawn.
  const tasks = (answer?.items ?? []).filter(
    ({ finishedAt }) => finishedAt === null || Date.parse(finishedAt) > now - spanMax,
  );
  const oldest = Math.min(now - 1_000, ...tasks.map((task) => Date.parse(task.submittedAt)));
  const from = Math.max(oldest, now - spanMax);
  const width = boxWidth - leftPx - 12;
  const graph = trainGraph(tasks, { from, to: now, width, submittedY: 24, startedY: 122, finishedY: 198 });
  const marks = [0, 0.25, 0.5, 0.75];
  return (
    <div ref={box}>
      <div class="plot-head">
        <h3>Train graph</h3>
        <span class="aside">
          a line a task, the newest {graph.drawn} drawn; steep is quick, flat is waiting
        </span>
      </div>
      <svg
        class="trains"
        width={boxWidth}
        height="226"
        role="img"
        aria-label={`The newest tasks of ${queue}: submitted, started, finished. Tasks lists the same.`}
      >
        {[
          [24, "submitted"],
          [122, "started"],
          [198, "finished"],
        ].map(([y, word]) => (
          <g key={word}>
            <text x="0" y={Number(y) + 4}>
              {word}
            </text>
            <path d={`M${leftPx} ${y}h${width}`} class="trains-station" />
          </g>
        ))}
        {/* What began before is cut at the left edge, and does not lie on the stations' names. */}
        <svg x={leftPx} width={width + 6} height="206" overflow="hidden">
          <path d={graph.plain} fill="none" stroke={colour} stroke-width="1" />
          <path d={graph.failed} class="trains-failed" />
          <path d={graph.lost} class="trains-lost" />
          {graph.crosses.slice(0, 200).map(([x, y], at) => (
            <path key={at} d={`M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7`} class="timeline-cross" />
          ))}
        </svg>
        <g transform={`translate(${leftPx} 0)`}>
          {marks.map((share) => (
            <text key={share} x={width * share} y="220" text-anchor={share === 0 ? "start" : "middle"}>
              {now - from < 240_000
                ? clock(from + (now - from) * share)
                : clockMinutes(from + (now - from) * share)}
            </text>
          ))}
          <text x={width} y="220" text-anchor="end">
            now
          </text>
        </g>
      </svg>
    </div>
  );
}
