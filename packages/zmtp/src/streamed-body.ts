// A frame whose body is fetched piece by piece while it is written, so that it is never in memory
// as a whole.

export interface StreamedBody {
  /** Sum of all pieces. */
  readonly length: number;
  /**
   * Asks for the next piece. `take` gets it, now or later, or undefined where it cannot be had: the
   * frame has begun by then, so the connection is closed.
   */
  pull(take: (piece: Uint8Array | undefined) => void): void;
  /** Called once: everything was written, or the peer is gone. */
  end(): void;
}

/** A frame of an outgoing message. */
export type OutgoingFrame = Uint8Array | StreamedBody;

export function isStreamed(frame: OutgoingFrame): frame is StreamedBody {
  return "pull" in frame;
}
