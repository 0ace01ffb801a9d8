// What all types of socket share towards their user: bind and connect, see peers come and go, hold a peer back, close.

import { parseEndpoint } from "../endpoint.js";
import type { FaultKind } from "../faults.js";
import type { SocketType } from "../socket-types.js";
import { Dialer, type Dialing } from "./dialer.js";
import { Hub, type Pattern } from "./hub.js";
import { type Binding, listen } from "./listener.js";
import type { IdentityOption, SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { WirePeer } from "./wire-peer.js";

export abstract class ZmtpSocket {
  protected readonly hub: Hub;
  private readonly options: SocketOptions;
  private readonly bindings = new Set<Binding>();
  private readonly dialers = new Set<Dialer>();
  private isClosed = false;

  constructor(type: SocketType, options: SocketOptions & IdentityOption, pattern: Pattern) {
    this.options = options;
    this.hub = new Hub(type, options, pattern);
  }

  /** Rejects if the endpoint cannot be bound, for example because it is in use. */
  async bind(endpoint: string): Promise<Binding> {
    const binding = await listen(this.hub, parseEndpoint(endpoint));
    this.bindings.add(binding);
    if (this.isClosed) await binding.close();
    return binding;
  }

  /** Returns at once and keeps trying; onPeer tells when it worked. */
  connect(endpoint: string): Dialing {
    const target = parseEndpoint(endpoint);
    if (target.transport === "tcp" && target.port === 0)
      throw new TypeError(`no port to connect to: ${endpoint}`);
    const dialer = new Dialer(this.hub, target, (...failure) => this.options.onConnectFailed?.(...failure));
    this.dialers.add(dialer);
    return dialer;
  }

  /** Open peers, in the order in which their connections were made. */
  *peers(): IterableIterator<Peer> {
    for (const peer of this.hub.peers) if (peer.isOpen) yield peer;
  }

  /** How often peers did something wrong, by kind. */
  get faults(): { get(kind: FaultKind): number; entries(): IterableIterator<[FaultKind, number]> } {
    return this.hub.faults;
  }

  /** What all peers together have not taken yet. */
  get pendingBytes(): number {
    return this.hub.totals.pendingBytes;
  }

  /** Stops reading a peer: its messages stay with it, and TCP pushes back. Not one more is delivered, even of this read. */
  pause(peer: Peer): void {
    (peer as WirePeer).pause();
  }

  /** Goes on where pause() stopped, at the end of this turn. */
  resume(peer: Peer): void {
    (peer as WirePeer).resume();
  }

  /** Writes what was sent so far, instead of at the end of the turn: for who sends at the end of a turn, and all at once. */
  flush(): void {
    this.hub.finishTurn();
  }

  /** Hangs up on a peer, with a second to take what it was sent before. One that we connected to is connected to again. */
  disconnect(peer: Peer): void {
    (peer as WirePeer).dismiss("disconnected");
  }

  /** Stops listening and connecting, and hangs up on every peer when it has taken what it was sent, or after lingerMs. */
  async close({ lingerMs = 1_000 }: { lingerMs?: number } = {}): Promise<void> {
    this.isClosed = true;
    for (const dialer of this.dialers) dialer.close();
    const released = [...this.bindings].map((binding) => binding.close());
    this.hub.stop();
    const departures = [...this.hub.peers].map((peer) => {
      peer.leave("shutdown", peer.isOpen ? lingerMs : 0);
      return new Promise<void>((resolve) => peer.whenClosed(resolve));
    });
    await Promise.all([...released, ...departures]);
  }
}
