// A limit for every quantity that a peer could grow. Reaching one is a fault or a refused send,
// never ignored.

export interface Limits {
  /** Connections during and after the handshake, accepted and dialled. */
  readonly peersMax: number;
  /** Time from the connection to the end of the handshake. */
  readonly handshakeMs: number;
  readonly frameBytesMax: number;
  /** Total size of the frames of one message. */
  readonly messageBytesMax: number;
  readonly messageFramesMax: number;
  /** Size of one command: READY with its properties, or SUBSCRIBE with its prefix. */
  readonly commandBytesMax: number;
  /**
   * Memory for incomplete incoming messages of all peers together, including the overhead of their
   * frames. At seven eighths of it, a peer that holds more than 64 KiB is disconnected; at the
   * limit, every peer that adds to it.
   */
  readonly assemblyBytesMax: number;
  /**
   * High-water marks of one peer's unsent data. A queue below both marks takes one message whole,
   * even if that exceeds them.
   */
  readonly sendBytesMax: number;
  readonly sendMessagesMax: number;
  /** Unsent data of all slow peers together. Beyond it, a peer that is behind gets nothing more. */
  readonly sendTotalBytesMax: number;
  readonly subscriptionsMax: number;
  /** Total size of the prefixes of one peer's subscriptions. */
  readonly subscriptionBytesMax: number;
  /** Unanswered requests of one peer of a REP. At the limit, the peer is not read. */
  readonly openRequestsMax: number;
}

const KiB = 1024;
const MiB = 1024 * KiB;

export const defaultLimits: Limits = {
  // More than the 10,000 peers a dispatcher is built for, and fewer than one address has ports.
  peersMax: 50_000,
  // A handshake takes two round trips. libzmq waits 30 s, which lets an attacker hold six times as
  // many connections.
  handshakeMs: 5_000,
  // The largest payload of a task plus its envelope.
  frameBytesMax: 256 * MiB,
  messageBytesMax: 257 * MiB,
  // Real messages have fewer than ten frames. Each frame costs about 100 bytes of bookkeeping, even
  // an empty one.
  messageFramesMax: 1_024,
  // READY with the longest identity is under 600 bytes. The rest is for X- properties and long
  // prefixes.
  commandBytesMax: 16 * KiB,
  // One message of the largest size, and a few hundred that are cut by the end of a read.
  assemblyBytesMax: 320 * MiB,
  // Several socket buffers, so that a fast link does not run dry while the event loop is busy.
  sendBytesMax: 16 * MiB,
  sendMessagesMax: 100_000,
  sendTotalBytesMax: 256 * MiB,
  subscriptionsMax: 10_000,
  subscriptionBytesMax: MiB,
  openRequestsMax: 1_000,
};
