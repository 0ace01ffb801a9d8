// A stream and how its bytes are read. All lines read into one shared buffer. Bytes that are not
// consumed at once are copied out at their true size, and the rest of a large frame is read
// directly into place. Node's default gives each read 64 KiB of fresh memory, which took three
// times the processor time for frames of 1 MB.
//
// node:net offers this as `onread`, but only for streams that the program creates. A stream
// accepted by a server already exists, so its handle moves to a new stream. Without access to the
// handle, the line falls back to "data" events.

import type { IpcNetConnectOpts, OnReadOpts, SocketConstructorOpts } from "node:net";
import { connect, Socket, type TcpNetConnectOpts } from "node:net";

export interface Sink {
  /**
   * Reads the first `length` bytes, which are shared and invalid after the call. Returns how many
   * were consumed.
   */
  borrow(bytes: Buffer, length: number): number;
  /** Receives bytes that now belong to the sink. */
  receive(chunk: Buffer): void;
  /** The buffer in which the sink wants the next bytes, if any. */
  target(): Buffer | undefined;
  /** Reports that this many bytes were written to the last target(). */
  filled(bytes: number): void;
}

export interface Line {
  readonly stream: Socket;
  /** Starts delivering bytes to the sink. Call it before the next turn of the event loop. */
  open(sink: Sink): void;
}

const shared = Buffer.allocUnsafeSlow(64 * 1024);

class Inlet implements OnReadOpts {
  sink: Sink | undefined;
  private isDirect = false;

  readonly buffer = (): Uint8Array => {
    const target = this.sink?.target();
    this.isDirect = target !== undefined;
    return target ?? shared;
  };

  readonly callback = (bytes: number): boolean => {
    const { sink } = this;
    if (this.isDirect) sink?.filled(bytes);
    else if (sink !== undefined) {
      const used = sink.borrow(shared, bytes);
      if (used === bytes) return true;
      const chunk = Buffer.allocUnsafe(bytes - used);
      shared.copy(chunk, 0, used, bytes);
      sink.receive(chunk);
    }
    return true;
  };
}

/** A line that is being connected. Wait for the stream's "connect". */
export function dialLine(options: TcpNetConnectOpts | IpcNetConnectOpts): Line {
  const inlet = new Inlet();
  return lineOf(connect({ ...options, onread: inlet }), inlet);
}

/** `accepted` must be unread: create the server with `pauseOnConnect`. */
export function acceptLine(accepted: Socket): Line {
  const handle = takeHandle(accepted);
  if (handle === undefined) return eventLine(accepted);
  const inlet = new Inlet();
  const options: SocketConstructorOpts & { handle: unknown; onread: OnReadOpts } = { handle, onread: inlet };
  return lineOf(new Socket(options), inlet);
}

/** The fallback for streams without an accessible handle. */
export function eventLine(stream: Socket): Line {
  return {
    stream,
    open(sink) {
      stream.on("data", (chunk: Buffer) => sink.receive(chunk));
      stream.resume();
    },
  };
}

function lineOf(stream: Socket, inlet: Inlet): Line {
  return {
    stream,
    open(sink) {
      inlet.sink = sink;
      // No "data" will be emitted, but "end" is emitted only by a flowing stream.
      stream.resume();
    },
  };
}

/** Closes the rest of the accepted stream, which owns nothing any more. */
function takeHandle(accepted: Socket): unknown {
  const holder = accepted as unknown as { _handle?: { readStart?: unknown; useUserBuffer?: unknown } | null };
  const handle = holder._handle;
  if (typeof handle?.readStart !== "function" || typeof handle.useUserBuffer !== "function") return undefined;
  holder._handle = null;
  accepted.destroy();
  return handle;
}
