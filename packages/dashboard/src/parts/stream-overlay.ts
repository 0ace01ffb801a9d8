// What moves above the settled stream: lines of tasks that went to another worker, words at stalls
// and gaps, the edge of now, and the outline of what is pointed at.

import type { Yard } from "../live/yard.js";
import { clock, duration } from "../model/time.js";
import type { StreamPainter } from "./stream-painter.js";
import { type Inks, inks } from "./theme.js";

/** Words begin to the right of the first group's head. */
const namesPx = 170;
/** A phone has no room for words beside the group's own. */
const narrowPx = 500;

export function paintOverlay(
  yard: Yard,
  painter: StreamPainter,
  canvas: HTMLCanvasElement,
  right: number,
  pointed: number | undefined,
): void {
  const below = canvas.previousElementSibling as HTMLCanvasElement;
  if (canvas.width !== below.width || canvas.height !== below.height) {
    canvas.width = below.width;
    canvas.height = below.height;
    canvas.style.width = below.style.width;
    canvas.style.height = below.style.height;
  }
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const dpr = canvas.width / Math.max(1, painter.width);
  const colours = inks();
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.clearRect(0, 0, painter.width, canvas.height / dpr);
  drawMoves(context, yard, painter, right, colours);
  drawWords(context, yard, painter, colours.muted);
  drawGoneNotes(context, yard, painter, colours.muted);
  context.fillStyle = colours.text;
  context.fillRect(painter.width - 1, 0, 1, canvas.height / dpr);
  if (pointed === undefined) return;
  const box = painter.boxOf(pointed, right);
  if (!box) return;
  context.strokeStyle = colours.text;
  context.lineWidth = 1.5;
  context.strokeRect(box.x - 0.5, box.y - 0.5, Math.max(3, box.width), box.height + 1);
}

function drawMoves(
  context: CanvasRenderingContext2D,
  yard: Yard,
  painter: StreamPainter,
  right: number,
  colours: Inks,
): void {
  const { ring } = yard;
  context.strokeStyle = colours.text;
  context.lineWidth = 1.4;
  for (const { from, to, attempt } of painter.moves) {
    // Both slots may hold others by now.
    if (ring.attempt[to] !== attempt || ring.movedFrom[to] !== from) continue;
    if (painter.rowOf(to)?.isBand || painter.rowOf(from)?.isBand) continue;
    const [start, end] = [painter.boxOf(to, right), painter.boxOf(from, right)];
    if (!start || !end || start.x > painter.width || start.x < -200) continue;
    const [x0, y0] = [end.x + end.width + 2, end.y + end.height / 2];
    const [x1, y1] = [start.x, start.y + start.height / 2];
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.beginPath();
    context.arc(x1, y1, 3, 0, Math.PI * 2);
    context.fillStyle = colours.panel;
    context.fill();
    context.stroke();
  }
}

function drawWords(
  context: CanvasRenderingContext2D,
  yard: Yard,
  painter: StreamPainter,
  colour: string,
): void {
  context.font = "11.5px system-ui, sans-serif";
  context.fillStyle = colour;
  const { stalls, gaps, firstFrom } = yard.busy;
  const unseen = `nothing is known from before ${clock(firstFrom ?? 0)}, when this page was opened`;
  const notes = [
    ...(firstFrom === undefined || painter.xOf(firstFrom) < 0
      ? []
      : [
          {
            x: painter.xOf(firstFrom) - context.measureText(unseen).width - 8,
            end: painter.xOf(firstFrom),
            text: unseen,
          },
        ]),
    ...gaps.map(({ from, to }) => ({
      x: Math.max(8, painter.xOf(from) + 8),
      end: painter.xOf(to),
      text: `${duration(to - from)} missed`,
    })),
    // The longest first: where several are close to each other, the others have no room.
    ...[...stalls]
      .sort((a, b) => b.ms - a.ms)
      .map(({ start, ms }) => ({
        x: painter.xOf(start + ms) + 8,
        end: painter.xOf(start + ms) + 8,
        text: `the dispatcher stalled ${duration(ms)}: no silence counted`,
      })),
  ];
  const drawn: { readonly from: number; readonly to: number }[] = [];
  for (const { x, end, text } of notes) {
    if (end <= 0 || x >= painter.width) continue;
    const width = context.measureText(text).width + 8;
    // Near the right edge the words stand before it.
    const from = Math.min(Math.max(namesPx, x), painter.width - width);
    const to = from + width;
    if (from < namesPx || painter.width < narrowPx) continue;
    if (drawn.some((other) => from < other.to && to > other.from)) continue;
    drawn.push({ from, to });
    context.fillText(text, from, 12);
  }
}

/** A worker that came back: how long it was gone. */
function drawGoneNotes(
  context: CanvasRenderingContext2D,
  yard: Yard,
  painter: StreamPainter,
  colour: string,
): void {
  context.fillStyle = colour;
  const { ring } = yard;
  for (const { from, attempt, to } of painter.moves) {
    if (ring.attempt[to] !== attempt) continue;
    const row = painter.rowOf(from);
    const worker = row?.workers[0]?.worker;
    if (!row || row.isBand || !worker) continue;
    const joined = Date.parse(worker.joinedAt);
    const end = ring.end[from] as number;
    if (joined > end && joined - end < 600_000) {
      const x = painter.xOf(end) + 12;
      if (x < painter.width) context.fillText(`gone ${duration(joined - end)}`, x, row.y + 12);
    }
  }
}
