// Tasks over time, by queue; dragging over it chooses that span.

import { useRef, useState } from "preact/hooks";
import type { TaskList } from "../live/task-list.js";
import { yard } from "../live/yard.js";
import { histogramOf } from "../model/histogram.js";
import { colourAt } from "../model/queue-colours.js";
import { clock, clockMinutes } from "../model/time.js";
import { useDark } from "../parts/theme.js";

const heightPx = 44;

export function Histogram({
  list,
  onSpan,
}: {
  list: TaskList;
  onSpan: (since: string, until: string) => void;
}) {
  const isDark = useDark();
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | undefined>();
  const drawn = histogramOf(list.count, list.items, yard.now());
  if (!drawn) return null;
  const { from, stepMs, columns, top, isWhole } = drawn;
  const spanMs = stepMs * columns.length;
  const width = 1000 / columns.length;
  const place = (event: PointerEvent) => {
    const bounds = box.current?.getBoundingClientRect();
    return bounds ? Math.max(0, Math.min(1, (event.clientX - bounds.left) / bounds.width)) : 0;
  };
  const finish = () => {
    if (!drag) return;
    const [low, high] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    setDrag(undefined);
    // A click chooses the bar under it.
    const isClick = high - low < 0.005;
    const bar = Math.floor(low * columns.length);
    const start = isClick ? from + bar * stepMs : from + low * spanMs;
    const end = isClick ? start + stepMs : from + high * spanMs;
    onSpan(new Date(start).toISOString(), new Date(end).toISOString());
  };
  // Over a span of a few minutes, labels without seconds would repeat.
  const axisClock = spanMs < 300_000 ? clock : clockMinutes;
  return (
    <section class="card histogram" aria-label="Tasks over time">
      <div
        ref={box}
        class="histogram-box"
        onPointerDown={(event) => setDrag({ from: place(event), to: place(event) })}
        onPointerMove={(event) => drag && setDrag({ from: drag.from, to: place(event) })}
        onPointerUp={finish}
        onPointerLeave={() => setDrag(undefined)}
      >
        <svg
          width="100%"
          height={heightPx}
          viewBox={`0 0 1000 ${heightPx}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          {columns.map((parts, at) => {
            let y = heightPx;
            return parts.map(({ queue, count }) => {
              const height = Math.max(2, (count / top) * (heightPx - 4));
              y -= height;
              return (
                <rect
                  key={`${at} ${queue}`}
                  x={at * width + width * 0.1}
                  y={y}
                  width={width * 0.8}
                  height={height - 0.6}
                  fill={colourAt(yard.colours.indexOf(queue), isDark)}
                />
              );
            });
          })}
          {drag && (
            <rect
              x={Math.min(drag.from, drag.to) * 1000}
              y="0"
              width={Math.abs(drag.to - drag.from) * 1000}
              height={heightPx}
              class="histogram-drag"
            />
          )}
        </svg>
      </div>
      <div class="histogram-axis aside tabular">
        {[0, 0.2, 0.4, 0.6, 0.8].map((share) => (
          <span key={share}>{axisClock(from + spanMs * share)}</span>
        ))}
        <span>
          {isWhole ? "" : "of those listed · "}
          {from + spanMs > yard.now() - 60_000 ? "now" : axisClock(from + spanMs)}
        </span>
      </div>
    </section>
  );
}
