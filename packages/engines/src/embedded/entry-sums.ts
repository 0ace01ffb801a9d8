// The sum of a tree: over all its entries, a hash of the key and of the record's CRC. A page of the
// file that is an older version of itself, because the disk lost a write, has sound records; but
// its tree then has another sum than the one that was committed with the last transaction.
//
// A sum does not depend on the order of the entries. So a commit adds the entries it wrote and
// subtracts those it replaced or removed, and need not read any others.

/**
 * The hash of one entry. For one key, two different CRCs never have the same hash. CRCs are linear:
 * without the mixing, two records that change alike would often leave the sum as it was.
 */
export function entryHash(key: Uint8Array, start: number, end: number, crc: number): number {
  let hash = crc;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (key[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** The CRC in front of a record, as a signed number of 32 bits. */
export function crcOf(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}
