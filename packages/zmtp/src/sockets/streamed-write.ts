// A write that contains streamed bodies. Each piece is pulled when the one before it was written,
// so a slow peer costs the memory of one piece.

import type { Socket as Stream } from "node:net";
import { isStreamed, type StreamedBody } from "../streamed-body.js";

export class StreamedWrite {
  private readonly stream: Stream;
  private readonly segments: readonly (Buffer | StreamedBody)[];
  private readonly done: () => void;
  private at = 0;
  /** Of the streamed body that is being written. */
  private leftBytes = 0;
  private isOver = false;

  constructor(stream: Stream, segments: readonly (Buffer | StreamedBody)[], done: () => void) {
    this.stream = stream;
    this.segments = segments;
    this.done = done;
  }

  /** Writes up to the end of the next streamed body, and goes on from there. */
  next(): void {
    for (; this.at < this.segments.length; this.at++) {
      const segment = this.segments[this.at] as Buffer | StreamedBody;
      if (isStreamed(segment)) {
        this.leftBytes = segment.length;
        return this.pull(segment);
      }
      const isLast = this.at === this.segments.length - 1;
      this.stream.write(segment, isLast ? (error) => this.finish(error) : undefined);
    }
  }

  /** The peer is gone: nothing more is pulled. */
  stop(): void {
    if (this.isOver) return;
    this.isOver = true;
    endStreams(this.segments.slice(this.at));
  }

  private pull(body: StreamedBody): void {
    if (this.leftBytes === 0) return this.endBody(body);
    body.pull((piece) => {
      if (this.isOver) return;
      if (piece === undefined || piece.length > this.leftBytes || piece.length === 0) {
        this.stop();
        this.stream.destroy();
        return;
      }
      this.leftBytes -= piece.length;
      this.stream.write(piece, (error) => {
        // After an error the stream reports it itself.
        if (!error && !this.isOver) this.pull(body);
      });
    });
  }

  private endBody(body: StreamedBody): void {
    body.end();
    this.at++;
    if (this.at === this.segments.length) this.finish();
    else this.next();
  }

  private finish(error?: Error | null): void {
    if (error || this.isOver) return;
    this.isOver = true;
    this.done();
  }
}

export function endStreams(segments: readonly (Buffer | StreamedBody)[]): void {
  for (const segment of segments) if (isStreamed(segment)) segment.end();
}
