// The ladder of a task: a lifeline for each peer, the dispatcher's thicker, an arrow for each
// message of its story.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Task } from "../live/api-shapes.js";
import { ladderOf, type Rung } from "../model/ladder.js";
import { routeText } from "../model/route.js";
import { shortened, shownLine } from "../model/shown-text.js";
import { ChevronIcon } from "../parts/icons.js";

const rowPx = 26;
const headPx = 44;
const leftPx = 70;
/** Half of a peer's name, which stands centred above the last lifeline. */
const sidePx = 64;

export function Ladder({ task }: { task: Task }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(760);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(420, element.clientWidth - 32)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { peers, rungs } = ladderOf(task);
  const gap = (width - leftPx - 40 - sidePx) / Math.max(1, peers.length - 1);
  const x = (peer: number) => leftPx + 40 + peer * Math.min(gap, 240);
  const height = headPx + rungs.length * rowPx + 16;
  return (
    <section class="card" aria-label="Between the peers">
      <div class="card-head">
        <h2>Between the peers</h2>
        <span class="faint">{rungs.length} steps, from its story</span>
        <a class="right faint row" href={routeText("wire", "", { task: task.id })}>
          its messages in Wire <ChevronIcon />
        </a>
      </div>
      <div class="ladder scroll-x" ref={box} tabIndex={0} role="group" aria-label="Steps between the peers">
        <svg
          width={width}
          height={height}
          role="img"
          aria-label="Messages between client, dispatcher and workers, in order"
        >
          {peers.map(({ name, aside }, at) => (
            <g key={at}>
              <text class="ladder-name" x={x(at)} y="14" text-anchor="middle">
                {shownLine(shortened(name, 16))}
              </text>
              <text class="ladder-aside" x={x(at)} y="30" text-anchor="middle">
                {shownLine(aside)}
              </text>
              <path
                d={`M${x(at)} ${headPx - 6}V${lineEnd(rungs, at) ?? height - 8}`}
                class={at === 1 ? "ladder-yard" : "ladder-peer"}
              />
            </g>
          ))}
          {rungs.map((rung, at) => (
            <RungDrawing key={at} rung={rung} y={headPx + 14 + at * rowPx} x={x} />
          ))}
        </svg>
      </div>
    </section>
  );
}

/** A lifeline ends where the peer was cut off for good; undefined if it goes on. */
function lineEnd(rungs: readonly Rung[], peer: number): number | undefined {
  const last = rungs.findLastIndex(({ from, to }) => from === peer || to === peer);
  return rungs[last]?.kind === "cut" ? headPx + 14 + last * rowPx : undefined;
}

function RungDrawing({ rung, y, x }: { rung: Rung; y: number; x: (peer: number) => number }) {
  const [from, to] = [x(rung.from), x(rung.to)];
  const way = Math.sign(to - from);
  const time = (
    <text class="ladder-time" x="0" y={y + 4}>
      +{(rung.at / 1000).toFixed(3)}
    </text>
  );
  if (rung.kind === "committed") {
    return (
      <g>
        {time}
        <circle cx={from} cy={y} r="4.5" class="ladder-committed" />
        <text class="ladder-aside" x={from - 11} y={y + 4} text-anchor="end">
          committed
        </text>
      </g>
    );
  }
  if (rung.kind === "cut") {
    return (
      <g>
        {time}
        <path d={`M${from - 5} ${y - 5}l10 10m0 -10l-10 10`} class="timeline-cross" />
        <text class="ladder-fault" x={from - 11} y={y + 4} text-anchor="end">
          {shownLine(rung.words)}
        </text>
      </g>
    );
  }
  const isRefused = rung.kind === "refused";
  return (
    <g>
      {time}
      <path
        d={`M${from + way * 3} ${y}H${to - way * (isRefused ? 12 : 4)}`}
        class={isRefused ? "timeline-late" : "ladder-arrow"}
      />
      {isRefused ? (
        <path d={`M${to - way * 9 - 4} ${y - 4}l8 8m0 -8l-8 8`} class="timeline-cross" />
      ) : (
        <path d={`M${to - way * 3} ${y}l${-way * 6} -3v6z`} class="ladder-head" />
      )}
      <text
        class={isRefused ? "ladder-fault" : "ladder-words"}
        x={(from + to) / 2}
        y={y - 5}
        text-anchor="middle"
      >
        {shownLine(rung.words)} <tspan class="ladder-aside">{rung.aside}</tspan>
      </text>
    </g>
  );
}
