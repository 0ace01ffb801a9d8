// The interface that all socket types share: bind and connect, observe peers, pause a peer, close.

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
    const { listen: mechanisms } = this.hub.settings.security;
    if (mechanisms.length === 0) {
      throw new TypeError("a socket with credentials to connect cannot bind: set security.mechanisms");
    }
    await Promise.all(mechanisms.map((mechanism) => mechanism.load?.()));
    const binding = await listen(this.hub, parseEndpoint(endpoint));
    this.bindings.add(binding);
    if (this.isClosed) await binding.close();
    return binding;
  }

  /** Returns at once and keeps trying. onPeer is called on success. */
  connect(endpoint: string): Dialing {
    const target = parseEndpoint(endpoint);
    if (target.transport === "tcp" && target.port === 0)
      throw new TypeError(`no port to connect to: ${endpoint}`);
    if (this.hub.settings.security.connect === undefined) {
      throw new TypeError("a socket that authenticates peers cannot connect: set security.plain or .curve");
    }
    const dialer = new Dialer(this.hub, target, (...failure) => this.options.onConnectFailed?.(...failure));
    this.dialers.add(dialer);
    return dialer;
  }

  /** Open peers, in order of connection. */
  *peers(): IterableIterator<Peer> {
    for (const peer of this.hub.peers) if (peer.isOpen) yield peer;
  }

  /** Number of peers' mistakes, by kind. */
  get faults(): { get(kind: FaultKind): number; entries(): IterableIterator<[FaultKind, number]> } {
    return this.hub.faults;
  }

  /** Bytes that all peers together have not received yet. */
  get pendingBytes(): number {
    return this.hub.totals.pendingBytes;
  }

  /**
   * Stops reading a peer, so that TCP pushes back. No further message is delivered, even from the
   * current read.
   */
  pause(peer: Peer): void {
    (peer as WirePeer).pause();
  }

  /** Continues after pause(), at the end of this turn. */
  resume(peer: Peer): void {
    (peer as WirePeer).resume();
  }

  /**
   * Writes now instead of at the end of the turn, for a user that sends once at the end of a turn.
   */
  flush(): void {
    this.hub.finishTurn();
  }

  /**
   * Disconnects a peer after at most a second to take its unsent data. A dialled peer is connected
   * to again.
   */
  disconnect(peer: Peer): void {
    (peer as WirePeer).dismiss("disconnected");
  }

  /**
   * Disconnects all peers of the principals for which `isRevoked` is true, at once. Returns their
   * number. A revoked peer that is dialled again has to authenticate again.
   */
  revoke(isRevoked: (principal: unknown) => boolean): number {
    return this.hub.revoke(isRevoked);
  }

  /**
   * Stops listening and connecting, and disconnects every peer once it has taken its unsent data,
   * or after lingerMs.
   */
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
