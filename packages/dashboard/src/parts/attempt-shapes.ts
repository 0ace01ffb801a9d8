// The marks of attempts that did not simply end well: a foot and a notch, a hatch with a cross, a
// slash.

import { hatchOf } from "./hatch.js";
import type { Inks } from "./theme.js";

export interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly inks: Inks;
  readonly dpr: number;
}

/** In device pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The height of a tick. */
const tickPx = 4;
/** Lower boxes have no room for more than a foot. */
const roomyPx = 8;

export function drawFailed({ context, inks, dpr }: Pen, { x, y, width, height }: Box): void {
  const isRoomy = height >= roomyPx * dpr;
  const foot = Math.min(height, (isRoomy ? 3 : 2) * dpr);
  context.fillStyle = inks.fail;
  context.fillRect(x, y + height - foot, width, foot);
  if (!isRoomy) return;
  const notch = Math.min(width, 5 * dpr);
  context.beginPath();
  context.moveTo(x + width - notch, y);
  context.lineTo(x + width, y);
  context.lineTo(x + width, y + notch);
  context.fill();
}

export function drawLost({ context, inks, dpr }: Pen, { x, y, width, height }: Box, colour: string): void {
  context.fillStyle = hatchOf(context, colour, dpr);
  context.fillRect(x, y, width, height);
  if (height < roomyPx * dpr) return;
  context.strokeStyle = colour;
  context.lineWidth = dpr;
  context.setLineDash([3 * dpr, 2 * dpr]);
  context.strokeRect(x + 0.5, y + 0.5, Math.max(0, width - 1), height - 1);
  context.setLineDash([]);
  const [cx, cy, arm] = [x + width, y + height / 2, 3.5 * dpr];
  context.strokeStyle = inks.fail;
  context.lineWidth = 1.8 * dpr;
  context.beginPath();
  context.moveTo(cx - arm, cy - arm);
  context.lineTo(cx + arm, cy + arm);
  context.moveTo(cx + arm, cy - arm);
  context.lineTo(cx - arm, cy + arm);
  context.stroke();
}

export function drawCancelled({ context, inks, dpr }: Pen, { x, y, width, height }: Box): void {
  context.strokeStyle = inks.panel;
  context.lineWidth = 1.6 * dpr;
  context.beginPath();
  context.moveTo(x, y + height);
  context.lineTo(x + Math.min(width, height), y);
  context.stroke();
}

/** A tick at the foot of a row: its worker was heard. `row` is in CSS pixels. */
export function drawBeat(
  { context, inks, dpr }: Pen,
  x: number,
  row: { readonly y: number; readonly height: number },
): void {
  context.fillStyle = inks.text;
  context.fillRect(Math.round(x), Math.round((row.y + row.height - tickPx) * dpr), dpr, tickPx * dpr);
}
