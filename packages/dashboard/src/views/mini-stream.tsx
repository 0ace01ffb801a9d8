// The stream in small, on the overview: the last minute, a thin line for each worker.

import { useEffect, useRef, useState } from "preact/hooks";
import { FrameLoop } from "../live/frame-loop.js";
import { StreamClock } from "../live/stream-clock.js";
import { useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { layOutStream } from "../model/stream-layout.js";
import { workersInWindow } from "../model/window-counts.js";
import { ChevronIcon } from "../parts/icons.js";
import { StreamPainter } from "../parts/stream-painter.js";
import { inks, useDark } from "../parts/theme.js";

const spanMs = 60_000;
const heightPx = 160;

export function MiniStream() {
  useRefresh(1);
  const isDark = useDark();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<StreamPainter | undefined>(undefined);
  const [width, setWidth] = useState(0);
  const lanesOf = painter.current?.lanesOf ?? (() => 0);
  const layout = layOutStream(
    workersInWindow(yard.workers.values(), yard.ring, yard.now() - spanMs, yard.now()),
    {
      by: "door",
      openGroups: new Set(),
      lanesOf,
      isMini: true,
      miniHeight: heightPx,
    },
  );
  const shape = layout.groups
    .map(
      ({ name, rows }) => `${name}${rows.map(({ y, slots, workers }) => `${y} ${slots} ${workers[0]?.id}`)}`,
    )
    .join();
  useEffect(() => {
    if (!box.current || !canvas.current) return;
    painter.current = new StreamPainter(yard, canvas.current);
    const clock = new StreamClock(yard);
    const observer = new ResizeObserver(() => setWidth((box.current?.clientWidth ?? 98) - 98));
    observer.observe(box.current);
    const loop = new FrameLoop(() => painter.current?.paint(clock.right()));
    loop.start();
    return () => {
      loop.stop();
      observer.disconnect();
    };
  }, []);
  useEffect(() => {
    if (width > 0)
      painter.current?.set(
        layout,
        spanMs,
        { isDark, inks: inks(), isMini: true, followed: undefined },
        width,
      );
  }, [width, shape, isDark]);
  return (
    <section class="card" aria-label="Stream, last minute">
      <div class="card-head">
        <h2>Stream</h2>
        <span class="faint">last 60 s, a line a worker, colour is the queue</span>
        <a class="right faint row" href={routeText("stream")}>
          open <ChevronIcon />
        </a>
      </div>
      <div class="mini-stream" ref={box}>
        <div class="labels aside">
          {spread(layout.groups).map(({ name, y }) => (
            <span key={name} style={{ top: y }}>
              {shownLine(name)}
            </span>
          ))}
        </div>
        <div class="mini-canvas">
          <canvas ref={canvas} role="img" aria-label="What each worker did in the last minute" />
        </div>
      </div>
    </section>
  );
}

/** Spreads the labels of thin groups, which would overlap. */
function spread(groups: readonly { name: string; y: number }[]): { name: string; y: number }[] {
  let free = 0;
  return groups.map(({ name, y }) => {
    const at = Math.max(y, free);
    free = at + 14;
    return { name, y: at };
  });
}
