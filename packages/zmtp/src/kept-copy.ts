// Bytes that outlive the read they came in get memory of their own.

/** Not from Node's shared pool either: a slice of that would keep 8 KiB alive for each idle peer. */
export function keptCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Whether keeping it would keep much more than it. */
export function sharesMemory(frame: Buffer): boolean {
  return frame.length * 2 < frame.buffer.byteLength;
}

/** Moves the frames from this one on that share memory, `bytes` in sum, into one piece of memory that is theirs. */
export function keepTogether(frames: Buffer[], from: number, bytes: number): void {
  const kept = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (let index = from; index < frames.length; index++) {
    const frame = frames[index] as Buffer;
    if (!sharesMemory(frame)) continue;
    kept.set(frame, at);
    frames[index] = kept.subarray(at, at + frame.length);
    at += frame.length;
  }
}
