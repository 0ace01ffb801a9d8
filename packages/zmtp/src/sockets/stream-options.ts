// How every stream of ours is set up, accepted or dialled.

export const streamOptions = {
  // We gather what belongs together ourselves.
  noDelay: true,
  // Finds a vanished host where the peer knows no PING: after 2 s of quiet Node's probes go out every second.
  keepAlive: true,
  keepAliveInitialDelay: 2_000,
} as const;
