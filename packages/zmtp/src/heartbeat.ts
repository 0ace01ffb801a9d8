// When to ping a silent peer and when to give it up. Silence is counted in ticks of our own timer, not in time:
// if the event loop stalled, the ticks of the stall never happened and nobody is punished for them.

export interface HeartbeatSettings {
  /** How often a silent peer is pinged. 0 turns heartbeats off. */
  readonly intervalMs: number;
  /** Give the peer up after so much silence. */
  readonly deadMs: number;
  /** What our pings ask of the peer: to hang up after so long without a word from us. 0 asks nothing. */
  readonly ttlMs: number;
}

export const defaultHeartbeat: HeartbeatSettings = { intervalMs: 2_000, deadMs: 6_000, ttlMs: 0 };

// The peers' pings are spread over the ticks of an interval, so that ten thousand of them are no burst.
const ticksPerInterval = 16;
const tickMsMin = 5;
const tickMsMax = 1_000;

export interface Pulse {
  readonly tickMs: number;
  /** Infinity when heartbeats are off. */
  readonly pingTicks: number;
  readonly deadTicks: number;
  readonly handshakeTicks: number;
}

export function pulseOf(heartbeat: HeartbeatSettings, handshakeMs: number): Pulse {
  const isOn = heartbeat.intervalMs > 0;
  const shortestMs = isOn ? Math.min(heartbeat.intervalMs, handshakeMs) : handshakeMs;
  const tickMs = Math.max(tickMsMin, Math.min(tickMsMax, Math.floor(shortestMs / ticksPerInterval)));
  const ticks = (ms: number) => Math.max(1, Math.ceil(ms / tickMs));
  return {
    tickMs,
    pingTicks: isOn ? ticks(heartbeat.intervalMs) : Number.POSITIVE_INFINITY,
    deadTicks: isOn ? ticks(heartbeat.deadMs) : Number.POSITIVE_INFINITY,
    handshakeTicks: ticks(handshakeMs),
  };
}

// A peer that is behind may be slow, not dead: our ping waits behind data that it has not read.
const patienceWhenBehind = 10;

/** What is known of a peer's silence. */
export interface Silence {
  readonly ticks: number;
  /** What its own last PING asked of us; Infinity if nothing. */
  readonly ttlTicks: number;
  readonly isBehind: boolean;
  /** A number that grows by one with every tick and differs between peers: each has one tick of an interval for itself. */
  readonly phase: number;
}

export function judgeSilence(pulse: Pulse, silence: Silence): "wait" | "ping" | "dead" {
  const patience = silence.isBehind ? patienceWhenBehind : 1;
  if (silence.ticks >= Math.min(pulse.deadTicks, silence.ttlTicks) * patience) return "dead";
  const isTurn = Number.isFinite(pulse.pingTicks) && silence.phase % pulse.pingTicks === 0;
  return isTurn && silence.ticks > 1 && !silence.isBehind ? "ping" : "wait";
}
