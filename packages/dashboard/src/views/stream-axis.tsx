// The times above the stream.

import { clock, timeStep } from "../model/time.js";

export function StreamAxis({ right, spanMs, isLive }: { right: number; spanMs: number; isLive: boolean }) {
  const stepMs = timeStep(spanMs, 7);
  const from = right - spanMs;
  const times: number[] = [];
  for (let at = Math.ceil(from / stepMs) * stepMs; at < right - stepMs * 0.45; at += stepMs) times.push(at);
  return (
    <div class="stream-axis" aria-hidden="true">
      {times.map((at) => (
        <span key={at} style={{ left: `${((at - from) / spanMs) * 100}%` }}>
          {clock(at)}
        </span>
      ))}
      <b>{isLive ? `now ${clock(right)}` : clock(right)}</b>
    </div>
  );
}
