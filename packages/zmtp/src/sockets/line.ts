// A stream and how its bytes come in. Every read goes into one buffer that all lines share; what is not used up there
// and then is copied out at its true size, and the rest of a large frame is read straight to where it belongs. Node's
// usual way gives each read 64 KiB of fresh memory, which for frames of 1 MB took three times the processor time.
//
// node:net has this as `onread`, for streams that one makes oneself. A stream that a server accepted is already made,
// so its handle moves to a new one; if there is no handle to be had, the line falls back to "data" events.

import type { IpcNetConnectOpts, OnReadOpts, SocketConstructorOpts } from "node:net";
import { connect, Socket, type TcpNetConnectOpts } from "node:net";

export interface Sink {
  /** The first `length` of these bytes, which are others' when this returns: how many of them it has used up. */
  borrow(bytes: Buffer, length: number): number;
  /** Bytes that are the sink's own from now on. */
  receive(chunk: Buffer): void;
  /** Where it would rather have the next bytes, if there is such a place. */
  target(): Buffer | undefined;
  /** So many bytes are now where target() last said. */
  filled(bytes: number): void;
}

export interface Line {
  readonly stream: Socket;
  /** From here on the bytes go to the sink. To be called before the next turn of the event loop. */
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

/** A line that is being connected: wait for the stream's "connect". */
export function dialLine(options: TcpNetConnectOpts | IpcNetConnectOpts): Line {
  const inlet = new Inlet();
  return lineOf(connect({ ...options, onread: inlet }), inlet);
}

/** `accepted` must not have been read from: the server is to be made with `pauseOnConnect`. */
export function acceptLine(accepted: Socket): Line {
  const handle = takeHandle(accepted);
  if (handle === undefined) return eventLine(accepted);
  const inlet = new Inlet();
  const options: SocketConstructorOpts & { handle: unknown; onread: OnReadOpts } = { handle, onread: inlet };
  return lineOf(new Socket(options), inlet);
}

/** The plain way, for streams whose handle cannot be had. */
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
      // No "data" will be emitted, but "end" is only in a stream that flows.
      stream.resume();
    },
  };
}

/** What is left of the accepted stream is closed; it owns nothing any more. */
function takeHandle(accepted: Socket): unknown {
  const holder = accepted as unknown as { _handle?: { readStart?: unknown; useUserBuffer?: unknown } | null };
  const handle = holder._handle;
  if (typeof handle?.readStart !== "function" || typeof handle.useUserBuffer !== "function") return undefined;
  holder._handle = null;
  accepted.destroy();
  return handle;
}
