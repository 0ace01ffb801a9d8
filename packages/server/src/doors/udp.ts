// The udp door: one socket around the dialect's dispatcher.

import type { Effect, Instant, Moment, RequestAnswer, WorkerId } from "@yardmaster/core";
import { udp } from "@yardmaster/dialects";
import type { Access } from "../access/access.js";
import { AmplificationLimit } from "../door-kit/amplification.js";
import { AnonymousPeers } from "../door-kit/anonymous-peers.js";
import { type DatagramSocket, type MakeDatagramSocket, realDatagramSocket } from "../door-kit/datagrams.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults, type LogFault } from "../door-kit/faults.js";
import { listenAt } from "../door-kit/listening.js";
import { addressRefused, type PeerFilter, peerFilter } from "../door-kit/peer-filter.js";
import { ReadBacklog } from "../door-kit/read-backlog.js";
import { Requests } from "../door-kit/requests.js";
import type { Tap } from "../door-kit/tap.js";
import { jsonFields } from "../door-kit/wire-fields.js";
import { showListenAddress } from "../listen-address.js";
import type { DoorConfig } from "../registry/doors.js";
import type { Silence } from "../watching/alerts.js";

export interface UdpDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"udp">;
  readonly peersMax: number;
  readonly log: LogFault;
  readonly tap: Tap;
  /** Absent: every peer may submit and work. */
  readonly access?: Access;
  readonly makeSocket?: MakeDatagramSocket;
}

/** The bytes of a request to add a task, around its params. */
const requestBytesMin = '{"method":"add_task","params":,"packet_type":1,"transmission_id":1}'.length;

export class UdpDoor implements Door {
  readonly name = "udp";
  readonly faults: Faults;
  readonly #port: Port;
  readonly #config: DoorConfig<"udp">;
  readonly #tap: Tap;
  readonly #socket: DatagramSocket;
  readonly #dispatcher: udp.UdpDispatcher;
  readonly #requests = new Requests<RequestAnswer>();
  readonly #backlog = new ReadBacklog();
  readonly #peers: AnonymousPeers;
  readonly #filter: PeerFilter | undefined;
  readonly #amplification: AmplificationLimit;

  constructor(options: UdpDoorOptions) {
    const { port, config, peersMax, log, tap, access, makeSocket = realDatagramSocket } = options;
    this.#port = port;
    this.#config = config;
    this.#tap = tap;
    tap.countOnly(this.name, udp.methods);
    this.faults = new Faults(log, () => port.now());
    this.#peers = new AnonymousPeers(this.name, config.queue, access, () => port.now());
    this.#filter = peerFilter(config.peers);
    this.#amplification = new AmplificationLimit(config.amplification);
    this.#socket = makeSocket((bytes, host, peerPort) => {
      const now = port.now();
      this.#backlog.read(now);
      if (this.#filter?.allows(host) === false) {
        this.faults.add(addressRefused, host);
        return;
      }
      this.#dispatcher.receive(bytes, host, peerPort, now);
    });
    this.#dispatcher = new udp.UdpDispatcher(
      {
        door: this.name,
        queue: config.queue,
        peersMax,
        placementMs: config.timeout_task_placement * 1000,
        retransmission: { sends: config.sends, everyMs: config.resendSeconds * 1000 },
        calculators: {
          pollMs: config.activity_poll_sec * 1000,
          silenceMs: config.inactivity_timeout * 1000,
          executionMs: config.timeout_task_execution * 1000,
        },
      },
      this.#host(),
    );
  }

  async open(): Promise<DoorAddresses> {
    const address = this.#config.client_address;
    const bound = await listenAt(this.name, address, () => this.#socket.bind(address));
    for (const { replyTo, payload, envelope } of this.#port.openTasks()) {
      if (replyTo === undefined) continue;
      // Clients of tasks from before the restart have sent at least these.
      this.#amplification.received(replyTo.address, payload.size + requestBytesMin);
      if (udp.isOfProvenClient(envelope)) this.#amplification.acknowledged(replyTo.address);
    }
    this.#dispatcher.opened(this.#port.takeMemos(), this.#port.now());
    return { client_address: showListenAddress(bound) };
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "reply") this.#requests.settle(effect.request, effect.answer);
      else this.#dispatcher.deliver(effect);
    }
  }

  handleTimeout(now: Moment): void {
    this.#dispatcher.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    return this.#dispatcher.nextDeadline();
  }

  silenceOf(worker: WorkerId, now: Moment): Silence | undefined {
    return this.#dispatcher.silenceOf(worker, now);
  }

  close(): Promise<void> {
    return this.#socket.close();
  }

  #host(): udp.DispatcherHost {
    const { reads } = this.#port;
    return {
      now: () => this.#port.now(),
      post: (event) => this.#port.post(event),
      request: (take) => this.#requests.open(take),
      send: (bytes, to) => this.#socket.send(bytes, to),
      heard: (from, bytes) => this.#amplification.received(from.name, bytes),
      acknowledged: (from) => this.#amplification.acknowledged(from.name),
      isProven: (from) => this.#amplification.trusts(from),
      maySend: (to, bytes) => this.#amplification.maySend(to, bytes),
      may: (right) => this.#peers.may(right),
      isKeptAsProven: (client) => this.#amplification.isToRemember(client),
      isTooFast: () => this.#peers.isTooFast(),
      by: () => this.#peers.by,
      isAllowed: ({ host }) => this.#filter?.allows(host) ?? true,
      note: (direction, peer, type, bytes) => this.#note(direction, peer, type, bytes),
      noteUnreadable: (peer, fault, bytes) => {
        if (this.#tap.isOpen) this.#show("in", peer, fault, bytes, fault);
      },
      fault: (kind, peer, detail) => this.faults.add(kind, peer, detail),
      takeIsBehind: () => this.#backlog.takeIsBehind(),
      readTask: (id, take) => void reads.task(id).then((task) => take(task?.head)),
      findTasks: (search, take) =>
        void reads.find(search).then(({ items }) => take(items.map(({ head }) => head))),
    };
  }

  #note(direction: "in" | "out", peer: string, type: string, bytes: Buffer): void {
    this.#tap.count(this.name, direction, type, bytes.length);
    if (this.#tap.isOpen) this.#show(direction, peer, type, bytes);
  }

  #show(direction: "in" | "out", peer: string, type: string, bytes: Buffer, fault?: string): void {
    this.#tap.show({
      door: this.name,
      direction,
      side: this.#dispatcher.isCalculator(peer) ? "worker" : "client",
      peer,
      type,
      bytes: bytes.length,
      content: () => bytes.subarray(0, udp.datagramBytesOutMax).toString(),
      raw: [bytes],
      fields: () => jsonFields(bytes),
      ...(fault !== undefined && { fault }),
    });
  }
}
