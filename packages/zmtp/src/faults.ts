// Peers' mistakes, by name. A fault is a value that is counted and reported, never an exception.
// Most faults end the connection; the ones in `survivable` cost the peer only the frame or message
// that carried them.

export type FaultKind =
  // while connecting
  | "not_zmtp" // the first bytes are no ZMTP greeting
  | "old_version" // ZMTP 1 or 2
  | "unknown_mechanism" // the greeting names another security mechanism than ours
  | "message_in_handshake" // a message frame before the handshake ended
  | "handshake_timeout" // too slow to become a peer
  | "refused" // the peer sent ERROR
  | "denied" // the mechanism turned the peer's credentials down
  | "bad_handshake" // a security command cannot be read, for example because of a wrong server key
  | "bad_metadata" // the properties of READY cannot be read
  | "bad_identity" // longer than 255 bytes, or begins with the reserved zero byte
  | "identity_taken" // a live peer has this identity and handover is off
  | "wrong_socket_type" // for example a SUB that connects to a PULL
  | "too_many_peers"
  | "over_quota" // its principal has too many connections, or bytes of unfinished messages
  | "address_refused" // its address is not among those that may connect
  | "accept_failed" // the system could not hand it over, for example without a free descriptor
  // in traffic
  | "bad_flags" // reserved bits, or MORE on a command
  | "frame_too_large"
  | "message_too_large"
  | "too_many_frames"
  | "command_too_large"
  | "bad_command" // no room for its own name
  | "bad_seal" // a frame that is not sealed, or whose seal does not open
  | "bad_nonce" // a sealed frame was sent again, or out of order
  | "unexpected_command" // known, but not at this time or not for this type of socket
  | "unknown_command"
  | "unexpected_message" // a message to a socket that takes none
  | "bad_envelope" // a request or a reply without its delimiter
  | "too_many_subscriptions"
  | "assembly_full" // the unfinished messages of all peers together are over their limit
  | "pong_dropped"; // it pings and does not read the answers

/** Counted and ignored; the connection stays. */
export const survivable: ReadonlySet<FaultKind> = new Set<FaultKind>([
  "unknown_command",
  "unexpected_message",
  "bad_envelope",
  "pong_dropped",
]);

/** Counts faults by kind on one socket. */
export class FaultCounter {
  private readonly counts = new Map<FaultKind, number>();

  count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  get(kind: FaultKind): number {
    return this.counts.get(kind) ?? 0;
  }

  entries(): IterableIterator<[FaultKind, number]> {
    return this.counts.entries();
  }
}
