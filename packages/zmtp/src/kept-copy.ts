// Copies bytes that outlive the read they arrived in.

/** Avoids Node's shared pool as well: a slice of it would keep 8 KiB alive for each idle peer. */
export function keptCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** True if keeping this frame would keep much more memory alive. */
export function sharesMemory(frame: Buffer): boolean {
  return frame.length * 2 < frame.buffer.byteLength;
}
