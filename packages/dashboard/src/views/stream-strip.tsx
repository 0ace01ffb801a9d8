// The last 15 minutes above the stream: tasks done a second, failures below, and a brush that shows
// and moves the window.

import { useRef } from "preact/hooks";
import type { History } from "../live/api-shapes.js";
import { getJson } from "../live/session.js";
import { usePolled } from "../live/ticker.js";

const stripMs = 900_000;

export function StreamStrip(props: { right: number; spanMs: number; onMove: (right: number) => void }) {
  const { answer } = usePolled("strip", 10_000, () => getJson<History>("v1/history?span=1h"));
  const box = useRef<HTMLDivElement>(null);
  const series = answer?.series[0];
  const stepMs = answer?.stepMs ?? 10_000;
  const points = Math.round(stripMs / stepMs);
  const done = (series?.done ?? []).slice(-points);
  const failed = (series?.failed ?? [])
    .slice(-points)
    .map((value, at) => (value ?? 0) + (series?.lost.slice(-points)[at] ?? 0));
  const top = Math.max(1, ...done.map((value) => value ?? 0));
  const end = answer ? Date.parse(answer.to) : props.right;
  const share = (at: number) => Math.max(0, Math.min(1, 1 - (end - at) / stripMs));
  const area = done
    .map((value, at) => `L${((at + 0.5) / points) * 1000} ${40 - ((value ?? 0) / top) * 36}`)
    .join("");
  const move = (event: PointerEvent) => {
    const bounds = box.current?.getBoundingClientRect();
    if (!bounds || event.buttons !== 1) return;
    const middle = (event.clientX - bounds.left) / bounds.width;
    props.onMove(end - stripMs + middle * stripMs + props.spanMs / 2);
  };
  return (
    <div class="stream-strip">
      <span class="aside">
        15 min
        <br />
        done/s
      </span>
      <div class="strip-box" ref={box} onPointerDown={move} onPointerMove={move}>
        <svg width="100%" height="52" viewBox="0 0 1000 52" preserveAspectRatio="none" aria-hidden="true">
          <path d={`M0 40${area}L1000 40Z`} class="strip-area" />
          {failed.map((value, at) =>
            value > 0 ? (
              <rect
                key={at}
                x={(at / points) * 1000}
                y="42"
                width="5"
                height={value > 1 ? 8 : 3}
                class="strip-failed"
              />
            ) : null,
          )}
        </svg>
        <span
          class="strip-brush"
          style={{
            left: `${share(props.right - props.spanMs) * 100}%`,
            width: `${Math.max(0.4, (share(props.right) - share(props.right - props.spanMs)) * 100)}%`,
          }}
        />
      </div>
    </div>
  );
}
