// What the stream's boxes stand on: stalls, gaps, the grid of time, and a line for each worker that
// is there.

import type { Yard } from "../live/yard.js";
import type { StreamLayout } from "../model/stream-layout.js";
import { timeStep } from "../model/time.js";
import type { Inks } from "./theme.js";

/** In device pixels but for times. */
export interface Ground {
  readonly context: CanvasRenderingContext2D;
  readonly look: { readonly inks: Inks; readonly isMini: boolean };
  readonly dpr: number;
  /** The strip to paint. */
  readonly x: number;
  readonly width: number;
  readonly height: number;
  /** The time at the right edge of the stream. */
  readonly right: number;
  /** The left edge on the axis of time. */
  readonly leftPx: number;
  readonly pxPerMs: number;
  readonly spanMs: number;
}

export function paintGround({ busy }: Yard, layout: StreamLayout, ground: Ground): void {
  const { context, look, x, width, height } = ground;
  const column = (from: number, to: number) => {
    const start = Math.max(x, xOf(ground, from));
    const end = Math.min(x + width, xOf(ground, to));
    if (end > start) context.fillRect(start, 0, end - start, height);
  };
  context.fillStyle = look.inks.line;
  for (const { start, ms } of busy.stalls) column(start, start + ms);
  for (const { from, to } of busy.gaps) column(from, to);
  if (!look.isMini) paintGrid(ground);
  paintIdleLines(busy.firstFrom, layout, ground);
}

function xOf({ pxPerMs, leftPx }: Ground, at: number): number {
  return at * pxPerMs - leftPx;
}

function paintGrid(ground: Ground): void {
  const { context, look, x, width, height, leftPx, pxPerMs, spanMs } = ground;
  const stepMs = timeStep(spanMs, 7);
  const from = (x + leftPx) / pxPerMs;
  const to = (x + width + leftPx) / pxPerMs;
  context.fillStyle = look.inks.line;
  for (let at = Math.ceil(from / stepMs) * stepMs; at < to; at += stepMs)
    context.fillRect(Math.round(xOf(ground, at)), 0, 1, height);
}

function paintIdleLines(firstFrom: number | undefined, layout: StreamLayout, ground: Ground): void {
  const { context, look, dpr, x, width, right, leftPx } = ground;
  context.fillStyle = look.inks.line2;
  for (const { rows } of layout.groups) {
    for (const row of rows) {
      const worker = row.workers[0]?.worker;
      if (row.isBand || !worker) continue;
      const known = Math.max(Date.parse(worker.joinedAt), firstFrom ?? right);
      const from = Math.max(x, xOf(ground, known));
      const to = Math.min(x + width, xOf(ground, right));
      if (to <= from || worker.state === "lost") continue;
      const y = Math.floor((row.y + row.height / 2) * dpr);
      if (worker.state !== "draining") context.fillRect(from, y, to - from, dpr);
      else {
        // Dashes lie on whole sixths of the time axis, so that strips join.
        for (let at = Math.floor((from + leftPx) / 6) * 6 - leftPx; at < to; at += 6)
          context.fillRect(Math.max(from, at), y, Math.max(0, Math.min(3, to - at)), dpr);
      }
    }
  }
}
