// Options of every stream, accepted or dialled.

export const streamOptions = {
  // We gather small writes ourselves.
  noDelay: true,
  // Detects a vanished host if the peer does not know PING: after 2 s of silence, Node probes every
  // second.
  keepAlive: true,
  keepAliveInitialDelay: 2_000,
} as const;
