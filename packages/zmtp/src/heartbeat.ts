// When to ping a silent peer and when to give it up. Silence is counted in ticks of our own timer
// instead of time: a stalled event loop makes no ticks, so peers are not punished for our stall.

export interface HeartbeatSettings {
  /** Interval between pings to a silent peer; 0 turns heartbeats off. */
  readonly intervalMs: number;
  /** Silence after which the peer counts as dead. */
  readonly deadMs: number;
  /**
   * Time to live in our pings: the peer should disconnect after that much silence from us; 0 asks
   * for nothing.
   */
  readonly ttlMs: number;
}

export const defaultHeartbeat: HeartbeatSettings = { intervalMs: 2_000, deadMs: 6_000, ttlMs: 0 };

// Pings are spread over the ticks of an interval, so that ten thousand peers do not cause a burst.
const ticksPerInterval = 16;
const tickMsMin = 5;
const tickMsMax = 1_000;

export interface Pulse {
  readonly tickMs: number;
  /** Infinity when heartbeats are off. */
  readonly pingTicks: number;
  readonly deadTicks: number;
  readonly handshakeTicks: number;
  /** What is left of a recent amount after a tick: half of it is forgotten in a second. */
  readonly fade: number;
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
    fade: 0.5 ** (tickMs / 1_000),
  };
}

// A peer with unread data may be slow rather than dead: our ping waits behind that data.
const patienceWhenBehind = 10;

/** The state of a peer's silence. */
export interface Silence {
  readonly ticks: number;
  /** Time to live in the peer's last PING; Infinity if it gave none. */
  readonly ttlTicks: number;
  readonly isBehind: boolean;
  /**
   * Rises by one with every tick and differs between peers, so that each peer has its own tick of
   * an interval.
   */
  readonly phase: number;
}

export function judgeSilence(pulse: Pulse, silence: Silence): "wait" | "ping" | "dead" {
  const patience = silence.isBehind ? patienceWhenBehind : 1;
  if (silence.ticks >= Math.min(pulse.deadTicks, silence.ttlTicks) * patience) return "dead";
  const isTurn = Number.isFinite(pulse.pingTicks) && silence.phase % pulse.pingTicks === 0;
  return isTurn && silence.ticks > 1 && !silence.isBehind ? "ping" : "wait";
}
