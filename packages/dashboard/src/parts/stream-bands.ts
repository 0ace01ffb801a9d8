// Bands of the stream: the share of slots in use of many workers, stacked by queue. They are drawn
// from exact counts, one per second. Until the next count arrives, the last one is extended; then
// that part is drawn again.

import type { BusyFrame, BusyHistory } from "../model/busy-history.js";
import type { StreamLayout, StreamRow } from "../model/stream-layout.js";

export interface BandDrawing {
  /** What is new, in device pixels. */
  readonly x0: number;
  readonly x1: number;
  readonly dpr: number;
  readonly ground: string;
  rowOf(worker: number): StreamRow | undefined;
  colourOf(queue: number): string;
  xOf(at: number): number;
  timeAt(x: number): number;
}

/** One queue's part of one band: its share of the band's slots. */
interface Part {
  readonly row: StreamRow;
  readonly queue: number;
  readonly share: number;
}

export class StreamBands {
  #rows: readonly StreamRow[] = [];
  /**
   * The sums of each frame, kept while the layout stays: a full redraw would otherwise add up
   * hundreds of thousands of counts.
   */
  #parts = new WeakMap<BusyFrame, readonly Part[]>();
  /** Up to when bands were drawn from counts. */
  #drawnTo = 0;

  reset(layout: StreamLayout): void {
    const rows = layout.groups.flatMap((group) => group.rows.filter((row) => row.isBand));
    if (rows.length !== this.#rows.length || rows.some((row, at) => row !== this.#rows[at]))
      this.#parts = new WeakMap();
    this.#rows = rows;
    this.#drawnTo = 0;
  }

  paint(context: CanvasRenderingContext2D, busy: BusyHistory, drawing: BandDrawing): void {
    const last = busy.frames.at(-1);
    if (this.#rows.length === 0 || !last) return;
    const { x0, x1, dpr } = drawing;
    const isNew = last.to > this.#drawnTo;
    const from = isNew ? Math.min(x0, Math.max(0, Math.floor(drawing.xOf(this.#drawnTo)))) : x0;
    context.fillStyle = drawing.ground;
    for (const row of this.#rows) context.fillRect(from, row.y * dpr, x1 - from, (row.height - 2) * dpr);
    for (
      let at = Math.min(busy.indexAt(drawing.timeAt(from)), busy.frames.length - 1);
      at < busy.frames.length;
      at += 1
    ) {
      const frame = busy.frames[at] as BusyFrame;
      if (drawing.xOf(frame.from) >= x1) break;
      const left = Math.max(from, Math.round(drawing.xOf(frame.from)));
      const right = frame === last ? x1 : Math.min(x1, Math.round(drawing.xOf(frame.to)));
      if (right > left) this.#column(context, frame, drawing, left, right - left);
    }
    this.#drawnTo = last.to;
  }

  #column(
    context: CanvasRenderingContext2D,
    frame: BusyFrame,
    drawing: BandDrawing,
    x: number,
    width: number,
  ): void {
    const { dpr } = drawing;
    let current: StreamRow | undefined;
    let bottom = 0;
    for (const { row, queue, share } of this.#partsOf(frame, drawing)) {
      if (row !== current) {
        current = row;
        bottom = (row.y + row.height - 2) * dpr;
      }
      const height = Math.min(bottom - row.y * dpr, share * (row.height - 2) * dpr);
      context.fillStyle = drawing.colourOf(queue);
      context.fillRect(x, bottom - height, width, height);
      bottom -= height;
    }
  }

  /** Row after row; queues keep their place in the stack, so that a band does not flicker. */
  #partsOf(frame: BusyFrame, { rowOf }: BandDrawing): readonly Part[] {
    const known = this.#parts.get(frame);
    if (known) return known;
    const sums = new Map<StreamRow, Map<number, number>>();
    frame.workers.forEach((worker, at) => {
      const row = rowOf(worker);
      if (!row?.isBand) return;
      const byQueue = sums.get(row) ?? new Map<number, number>();
      const queue = frame.queues[at] as number;
      byQueue.set(queue, (byQueue.get(queue) ?? 0) + (frame.means[at] as number));
      sums.set(row, byQueue);
    });
    const parts = [...sums].flatMap(([row, byQueue]) =>
      [...byQueue]
        .sort((a, b) => a[0] - b[0])
        .map(([queue, mean]) => ({ row, queue, share: mean / row.slots })),
    );
    this.#parts.set(frame, parts);
    return parts;
  }
}
