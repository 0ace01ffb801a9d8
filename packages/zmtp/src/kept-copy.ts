// Bytes that outlive the read they came in get memory of their own.

/** Not from Node's shared pool either: a slice of that would keep 8 KiB alive for each idle peer. */
export function keptCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
