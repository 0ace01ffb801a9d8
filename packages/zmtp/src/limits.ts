// Every quantity a peer could grow, with its limit. A limit that is reached is a fault or a refused send, never silence.

export interface Limits {
  /** Connections in or past the handshake, both accepted and made. */
  readonly peersMax: number;
  /** From the connection to the end of the handshake. */
  readonly handshakeMs: number;
  readonly frameBytesMax: number;
  /** Sum of the frames of one message. */
  readonly messageBytesMax: number;
  readonly messageFramesMax: number;
  /** One command: READY with its properties, or SUBSCRIBE with its prefix. */
  readonly commandBytesMax: number;
  /**
   * Memory for incoming messages that have not arrived whole, of all peers together, with what their frames cost beside
   * their bytes. At seven eighths of it a peer that holds more than 64 KiB is disconnected, at the whole every peer that
   * adds to it.
   */
  readonly assemblyBytesMax: number;
  /** High-water marks of what one peer has not taken yet. One message may overshoot: a queue below both marks takes it whole. */
  readonly sendBytesMax: number;
  readonly sendMessagesMax: number;
  /** What all slow peers together have not taken; beyond it a peer that is behind gets nothing more. */
  readonly sendTotalBytesMax: number;
  readonly subscriptionsMax: number;
  /** Sum of the prefixes of one peer's subscriptions. */
  readonly subscriptionBytesMax: number;
  /** Requests of one peer that a REP has not answered; at the limit the peer is not read. */
  readonly openRequestsMax: number;
}

const KiB = 1024;
const MiB = 1024 * KiB;

export const defaultLimits: Limits = {
  // More than the 10,000 a dispatcher is built for, fewer than the ports of one address.
  peersMax: 50_000,
  // A handshake is two round trips; libzmq waits 30 s, which lets an attacker hold six times as many.
  handshakeMs: 5_000,
  // The largest payload of a task, and room for an envelope around it.
  frameBytesMax: 256 * MiB,
  messageBytesMax: 257 * MiB,
  // Real messages have fewer than ten frames; each costs about 100 bytes of bookkeeping however empty it is.
  messageFramesMax: 1_024,
  // READY is under 600 bytes with the longest identity; the rest is for X- properties and long prefixes.
  commandBytesMax: 16 * KiB,
  // One message of the largest size, and some hundred that are cut by the end of a read.
  assemblyBytesMax: 320 * MiB,
  // Several socket buffers' worth, so that a fast link never runs dry while the event loop is busy.
  sendBytesMax: 16 * MiB,
  sendMessagesMax: 100_000,
  sendTotalBytesMax: 256 * MiB,
  subscriptionsMax: 10_000,
  subscriptionBytesMax: MiB,
  openRequestsMax: 1_000,
};
