// How long each peer of the scaler door may be silent: workers by connection, clients by identity.

import { earlier, type Instant, type Moment } from "@yardmaster/core";
import { type Peer, Peers } from "@yardmaster/dialects";
import type { Silence } from "../watching/alerts.js";
import type { DoorLine } from "./door-line.js";

export interface PresenceSettings {
  readonly peersMax: number;
  readonly workerSilenceMs: number;
  readonly clientSilenceMs: number;
}

export interface SilenceHost {
  workerSilent(line: DoorLine): void;
  clientSilent(key: string): void;
}

export class Presence {
  readonly #settings: PresenceSettings;
  readonly #workers: Peers<DoorLine>;
  /** The connection of each of these workers, by name. */
  readonly #keys = new Map<string, string>();
  readonly #clients: Peers<string>;

  constructor(settings: PresenceSettings) {
    this.#settings = settings;
    this.#workers = new Peers(settings.peersMax);
    this.#clients = new Peers(settings.peersMax);
  }

  workerHeard(line: DoorLine, now: Moment): void {
    const peer = this.#workers.get(line.key) ?? this.#addWorker(line);
    if (peer !== undefined) this.#workers.heard(peer, now, this.#settings.workerSilenceMs);
  }

  clientHeard(key: string, now: Moment): void {
    const peer = this.#clients.get(key) ?? this.#clients.add(key, key);
    if (peer !== undefined) this.#clients.heard(peer, now, this.#settings.clientSilenceMs);
  }

  /** The connection is gone. */
  forgetWorker(line: DoorLine): void {
    const peer = this.#workers.get(line.key);
    if (peer !== undefined) this.#removeWorker(peer);
  }

  forgetClient(key: string): void {
    const peer = this.#clients.get(key);
    if (peer !== undefined) this.#clients.remove(peer);
  }

  handleTimeout(now: Moment, host: SilenceHost): void {
    for (let peer = this.#workers.takeSilent(now); peer !== undefined; peer = this.#workers.takeSilent(now)) {
      if (peer.session.isHeld) {
        this.workerHeard(peer.session, now);
        continue;
      }
      this.#removeWorker(peer);
      host.workerSilent(peer.session);
    }
    for (let peer = this.#clients.takeSilent(now); peer !== undefined; peer = this.#clients.takeSilent(now))
      host.clientSilent(peer.session);
  }

  nextDeadline(): Instant | undefined {
    return earlier(this.#workers.nextDeadline(), this.#clients.nextDeadline());
  }

  silenceOf(worker: string, now: Moment): Silence | undefined {
    const key = this.#keys.get(worker);
    return key === undefined ? undefined : this.#workers.silenceOf(key, now);
  }

  #addWorker(line: DoorLine): Peer<DoorLine> | undefined {
    this.#keys.set(line.name, line.key);
    return this.#workers.add(line.key, line);
  }

  #removeWorker(peer: Peer<DoorLine>): void {
    const { name, key } = peer.session;
    this.#workers.remove(peer);
    // The worker may have another connection by now.
    if (this.#keys.get(name) === key) this.#keys.delete(name);
  }
}
