// The times above the stream.

import { clock, timeStep } from "../model/time.js";

export function StreamAxis({ right, spanMs, isLive }: { right: number; spanMs: number; isLive: boolean }) {
  const stepMs = timeStep(spanMs, 7);
  const from = right - spanMs;
  const times: number[] = [];
  // The last time would be cut off by the words at the right end, which are twice as wide.
  const last = right - stepMs * 0.8;
  for (let at = Math.ceil(from / stepMs) * stepMs; at < last; at += stepMs) times.push(at);
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
