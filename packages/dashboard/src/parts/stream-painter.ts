// Paints the stream. The canvas below holds what is settled: each frame it is shifted by whole
// pixels, and only the new strip at the right edge, what the last events changed, and rows whose
// past changed are drawn. The one above holds what moves: the lines of tasks that went to another
// worker, and what is pointed at.

import type { Yard } from "../live/yard.js";
import { outcomes } from "../model/attempt-ring.js";
import { colourAt, mixed } from "../model/queue-colours.js";
import { lanesMax, type StreamLayout, type StreamRow } from "../model/stream-layout.js";
import { drawBeat, drawCancelled, drawFailed, drawLost } from "./attempt-shapes.js";
import { StreamBands } from "./stream-bands.js";
import { paintGround } from "./stream-ground.js";
import type { Inks } from "./theme.js";

const [failed, lost, cancelled, returned] = ["failed", "lost", "cancelled", "returned"].map((outcome) =>
  outcomes.indexOf(outcome as never),
);

/** How much of their colour is left of the tasks that are not followed. */
const dimmedShare = 0.25;

export interface StreamLook {
  readonly isDark: boolean;
  readonly inks: Inks;
  readonly isMini: boolean;
  /** Only this task is drawn in full. */
  readonly followed: number | undefined;
  /** A tick below each row where its worker was heard. */
  readonly hasBeats?: boolean;
}

export class StreamPainter {
  readonly #yard: Yard;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  #layout: StreamLayout = { groups: [], height: 0, isBands: false, perBand: 1 };
  #look: StreamLook | undefined;
  /** The row of each worker, by the ring's number. */
  #rowOf = new Map<number, StreamRow>();
  readonly #lanes = new Map<string, number>();
  #spanMs = 60_000;
  #leftPx = 0;
  #isVoid = true;
  #generation = -1;
  #stalls = 0;
  #firstFrom: number | undefined;
  #dpr = 1;
  /**
   * Attempts that are known but reach beyond the right edge: they are drawn as they come into view.
   */
  #pending: number[] = [];
  readonly #bands = new StreamBands();
  /** Lines from a lost attempt to the next, newest last. */
  moves: { from: number; to: number; attempt: number }[] = [];

  constructor(yard: Yard, canvas: HTMLCanvasElement) {
    this.#yard = yard;
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d", { alpha: true }) as CanvasRenderingContext2D;
    for (const slot of [...yard.ring.newestFirst()].reverse()) this.#noteTouched(slot);
  }

  get width(): number {
    return this.#canvas.width / this.#dpr;
  }

  lanesOf = (id: string): number => this.#lanes.get(id) ?? 0;

  /** Everything is drawn anew: another size, theme, span, layout or followed task. */
  set(layout: StreamLayout, spanMs: number, look: StreamLook, widthPx: number): void {
    this.#dpr = Math.min(2, globalThis.devicePixelRatio || 1);
    const [width, height] = [
      Math.max(1, Math.round(widthPx * this.#dpr)),
      Math.max(1, Math.round(layout.height * this.#dpr)),
    ];
    if (this.#canvas.width !== width) this.#canvas.width = width;
    if (this.#canvas.height !== height) this.#canvas.height = height;
    this.#canvas.style.width = `${widthPx}px`;
    this.#canvas.style.height = `${layout.height}px`;
    this.#layout = layout;
    this.#spanMs = spanMs;
    this.#look = look;
    this.#isVoid = true;
  }

  /** In CSS pixels from the canvas' left. */
  xOf(at: number): number {
    return (at * this.#pxPerMs - this.#leftPx) / this.#dpr;
  }

  timeAt(x: number): number {
    return (x * this.#dpr + this.#leftPx) / this.#pxPerMs;
  }

  rowOf(slot: number): StreamRow | undefined {
    return this.#rowOf.get(this.#yard.ring.worker[slot] as number);
  }

  /** Draws what is new up to `right`, the time at the right edge. */
  paint(right: number): void {
    if (this.#look === undefined) return;
    const { ring, busy } = this.#yard;
    const touched = ring.takeTouched();
    for (const slot of touched) this.#noteTouched(slot);
    if (ring.generation !== this.#generation || busy.stalls.length + busy.gaps.length !== this.#stalls)
      this.#isVoid = true;
    if (busy.firstFrom !== this.#firstFrom) {
      this.#firstFrom = busy.firstFrom;
      this.#isVoid = true;
    }
    const left = Math.round((right - this.#spanMs) * this.#pxPerMs);
    const shift = left - this.#leftPx;
    if (this.#isVoid || shift < 0 || shift >= this.#canvas.width) this.#paintAll(left, right);
    else this.#paintNew(left, shift, right, touched);
  }

  /** Which attempt is drawn at a point, in CSS pixels. */
  slotAt(x: number, y: number): number | undefined {
    const row = this.#rowAt(y);
    if (!row || row.isBand) return undefined;
    const at = this.timeAt(x);
    const slackMs = (3 * this.#dpr) / this.#pxPerMs;
    const { ring } = this.#yard;
    let best: number | undefined;
    let bestMs = slackMs;
    for (const slot of ring.newestFirst()) {
      if (this.#rowOf.get(ring.worker[slot] as number) !== row) continue;
      const [laneY, laneHeight] = this.#lane(slot, row);
      if (y < laneY - 1 || y > laneY + laneHeight + 1) continue;
      const start = ring.start[slot] as number;
      const end = this.#endOf(slot, Number.POSITIVE_INFINITY);
      const awayMs = at < start ? start - at : at > end ? at - end : 0;
      if (awayMs === 0) return slot;
      if (awayMs < bestMs) [best, bestMs] = [slot, awayMs];
    }
    return best;
  }

  /** The box of an attempt in CSS pixels. */
  boxOf(slot: number, right: number): { x: number; y: number; width: number; height: number } | undefined {
    const row = this.rowOf(slot);
    if (!row) return undefined;
    const [y, height] = this.#lane(slot, row);
    const x = this.xOf(this.#yard.ring.start[slot] as number);
    return { x, y, width: Math.max(1, this.xOf(this.#endOf(slot, right)) - x), height };
  }

  get #pxPerMs(): number {
    return this.#canvas.width / this.#spanMs;
  }

  #rowAt(y: number): StreamRow | undefined {
    for (const group of this.#layout.groups) {
      for (const row of group.rows) if (y >= row.y && y < row.y + row.height) return row;
    }
    return undefined;
  }

  #noteTouched(slot: number): void {
    const { ring } = this.#yard;
    const id = ring.workers.name(ring.worker[slot] as number);
    const lanes = (ring.lane[slot] as number) + 1;
    if (lanes > (this.#lanes.get(id) ?? 0)) {
      this.#lanes.set(id, lanes);
      this.#isVoid = true;
    }
    const from = ring.movedFrom[slot] as number;
    const attempt = ring.attempt[slot] as number;
    if (from < 0 || this.moves.some((move) => move.attempt === attempt)) return;
    this.moves.push({ from, to: slot, attempt });
    if (this.moves.length > 400) this.moves.shift();
  }

  #indexRows(): void {
    this.#rowOf.clear();
    for (const { rows } of this.#layout.groups) {
      for (const row of rows) {
        for (const { id } of row.workers) this.#rowOf.set(this.#yard.ring.workers.numberOf(id), row);
      }
    }
  }

  #paintAll(left: number, right: number): void {
    this.#leftPx = left;
    this.#isVoid = false;
    this.#generation = this.#yard.ring.generation;
    this.#stalls = this.#yard.busy.stalls.length + this.#yard.busy.gaps.length;
    this.#indexRows();
    const { width, height } = this.#canvas;
    this.#context.clearRect(0, 0, width, height);
    this.#ground(0, width, right);
    this.#bands.reset(this.#layout);
    this.#paintBands(0, width);
    const slots = [...this.#yard.ring.newestFirst()].reverse();
    for (const slot of slots) this.#box(slot, right);
    for (const { rows } of this.#layout.groups) for (const row of rows) this.#beatsOf(row, right);
    this.#pending = slots.filter((slot) => (this.#yard.ring.end[slot] as number) > right);
  }

  #paintNew(left: number, shift: number, right: number, touched: readonly number[]): void {
    const { width, height } = this.#canvas;
    this.#leftPx = left;
    if (shift > 0) {
      this.#context.globalCompositeOperation = "copy";
      this.#context.drawImage(this.#canvas, -shift, 0);
      this.#context.globalCompositeOperation = "source-over";
      this.#context.clearRect(width - shift, 0, shift, height);
      this.#ground(width - shift, shift, right);
      this.#paintBands(width - shift, width);
    }
    const isDirty = new Set<StreamRow>();
    const { ring } = this.#yard;
    const coming = [...this.#pending, ...touched];
    this.#pending = coming.filter((slot) => (ring.end[slot] as number) > right);
    for (const slot of coming) {
      const outcome = ring.outcome[slot] as number;
      const row = this.rowOf(slot);
      if (!row) {
        this.#isVoid ||= this.#yard.workers.has(ring.workers.name(ring.worker[slot] as number));
        continue;
      }
      const isPlain = outcome !== failed && outcome !== lost && outcome !== cancelled && outcome !== returned;
      if (isPlain || row.isBand || (ring.end[slot] as number) > right) this.#box(slot, right);
      else isDirty.add(row);
    }
    const clip = new Path2D();
    clip.rect(width - shift - 1, 0, shift + 1, height);
    this.#context.save();
    this.#context.clip(clip);
    for (const slot of ring.running()) this.#box(slot, right);
    this.#context.restore();
    if (isDirty.size > 0) this.#repaintRows(isDirty, right);
    this.#newBeats(right);
  }

  #repaintRows(rows: ReadonlySet<StreamRow>, right: number): void {
    const dpr = this.#dpr;
    const { width } = this.#canvas;
    for (const row of rows) {
      if (row.isBand) continue;
      this.#context.save();
      this.#context.beginPath();
      this.#context.rect(0, row.y * dpr, width, row.height * dpr);
      this.#context.clip();
      this.#context.clearRect(0, row.y * dpr, width, row.height * dpr);
      this.#ground(0, width, right);
      this.#context.restore();
    }
    const { ring } = this.#yard;
    const slots: number[] = [];
    for (const slot of ring.newestFirst()) {
      const row = this.#rowOf.get(ring.worker[slot] as number);
      if (row && rows.has(row)) slots.push(slot);
    }
    for (const slot of slots.reverse()) this.#box(slot, right);
    for (const row of rows) this.#beatsOf(row, right);
  }

  #beatsOf(row: StreamRow, right: number): void {
    const [only] = row.workers;
    if (only !== undefined) this.#ticks(row, this.#yard.heard.of(only.id), right);
  }

  #newBeats(right: number): void {
    for (const { worker, at } of this.#yard.heard.takeFresh(right)) {
      const row = this.#rowOf.get(this.#yard.ring.workers.find(worker) ?? -1);
      if (row !== undefined) this.#ticks(row, [at], right);
    }
  }

  #ticks(row: StreamRow, times: readonly number[], right: number): void {
    if (!this.#look?.hasBeats || row.isBand) return;
    const pen = { context: this.#context, inks: this.#look.inks, dpr: this.#dpr };
    for (const at of times) if (at <= right) drawBeat(pen, this.#deviceX(at), row);
  }

  #ground(x: number, width: number, right: number): void {
    paintGround(this.#yard, this.#layout, {
      context: this.#context,
      look: this.#look as StreamLook,
      dpr: this.#dpr,
      x,
      width,
      height: this.#canvas.height,
      right,
      leftPx: this.#leftPx,
      pxPerMs: this.#pxPerMs,
      spanMs: this.#spanMs,
    });
  }

  #deviceX(at: number): number {
    return at * this.#pxPerMs - this.#leftPx;
  }

  #endOf(slot: number, right: number): number {
    const end = this.#yard.ring.end[slot] as number;
    return Number.isNaN(end) ? right : end;
  }

  /** Top and height of an attempt's lane, in CSS pixels. */
  #lane(slot: number, row: StreamRow): [number, number] {
    const { ring } = this.#yard;
    const id = ring.workers.name(ring.worker[slot] as number);
    const lanes = Math.max(1, Math.min(lanesMax, this.#lanes.get(id) ?? 1));
    const inset = row.height >= 10 ? 2 : 1;
    const space = row.height - inset;
    if (lanes === 1 || row.height < 10) return [row.y + inset / 2, space];
    const height = space / lanes;
    return [
      row.y + inset / 2 + Math.min(lanes - 1, ring.lane[slot] as number) * height,
      Math.max(1, height - 0.8),
    ];
  }

  #box(slot: number, right: number): void {
    const { ring } = this.#yard;
    const row = this.rowOf(slot);
    if (!row) return;
    const start = this.#deviceX(ring.start[slot] as number);
    const end = this.#deviceX(Math.min(right, this.#endOf(slot, right)));
    const { width } = this.#canvas;
    if (end < 0 || start > width || end < start) return;
    // Beyond the right edge is the future: until then it only runs.
    const outcome = (ring.end[slot] as number) > right ? 0 : (ring.outcome[slot] as number);
    if (row.isBand) {
      if (outcome === failed || outcome === lost) this.#bandMark(end, row);
      return;
    }
    const dpr = this.#dpr;
    const [laneY, laneHeight] = this.#lane(slot, row);
    const [y, height] = [Math.round(laneY * dpr), Math.max(1, Math.round(laneHeight * dpr))];
    const look = this.#look as StreamLook;
    const colour = colourAt(
      this.#yard.colours.indexOf(ring.queues.name(ring.queue[slot] as number)),
      look.isDark,
    );
    const context = this.#context;
    const x = Math.round(start);
    const boxWidth = Math.max(1, Math.round(end) - x - (end - start > 3 ? dpr : 0));
    const isDimmed = look.followed !== undefined && ring.task[slot] !== look.followed;
    if (isDimmed) context.globalAlpha = dimmedShare;
    else if (outcome === returned) context.globalAlpha = 0.55;
    const pen = { context, inks: look.inks, dpr };
    if (outcome === lost) drawLost(pen, { x, y, width: boxWidth, height }, colour);
    else {
      // What runs is drawn again each frame, and layers of a transparent colour would add up.
      if (isDimmed) context.globalAlpha = 1;
      context.fillStyle = isDimmed ? mixed(colour, look.inks.bg, dimmedShare) : colour;
      context.fillRect(x, y, boxWidth, height);
      if (isDimmed) context.globalAlpha = dimmedShare;
      if (outcome === failed) drawFailed(pen, { x, y, width: boxWidth, height });
      if (outcome === cancelled) drawCancelled(pen, { x, y, width: boxWidth, height });
    }
    context.globalAlpha = 1;
  }

  #bandMark(x: number, row: StreamRow): void {
    this.#context.fillStyle = (this.#look as StreamLook).inks.fail;
    this.#context.fillRect(Math.round(x), row.y * this.#dpr, 2 * this.#dpr, 4 * this.#dpr);
  }

  /** Columns of the share of slots in use, stacked by queue, from exact counts. */
  #paintBands(x0: number, x1: number): void {
    const { busy, colours, ring } = this.#yard;
    const { inks, isDark } = this.#look as StreamLook;
    this.#bands.paint(this.#context, busy, {
      x0,
      x1,
      dpr: this.#dpr,
      ground: inks.bg,
      rowOf: (worker) => this.#rowOf.get(worker),
      colourOf: (queue) => colourAt(colours.indexOf(ring.queues.name(queue)), isDark),
      xOf: (at) => this.#deviceX(at),
      timeAt: (x) => (x + this.#leftPx) / this.#pxPerMs,
    });
  }
}
