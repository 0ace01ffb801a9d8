// The toy door, a socket and a map of peers, and its declaration for the registry.

import type { Effect, RequestAnswer } from "@yardmaster/core";
import {
  bindRouter,
  type DeclaredDoor,
  type DoorAddresses,
  type DoorDeclaration,
  type DoorParts,
  Faults,
  type ListenAddress,
  type MakeRouter,
  Requests,
  realRouter,
  setting,
  tcpPlaces,
} from "@yardmaster/server";
import type { Peer } from "@yardmaster/zmtp";
import { decode, encode } from "./codec.js";
import { ToyDoorPeer } from "./door-peer.js";

const toySettings = setting.settings({
  listen: setting.listenAddress().prefault("127.0.0.1:5599").describe("Where clients and workers connect."),
  queue: setting.queueName().prefault("toy").describe("The queue of this door."),
});

export const toyDeclaration: DoorDeclaration<"toy", typeof toySettings> = {
  name: "toy",
  page: "adding-a-dialect.md",
  settings: toySettings,
  places: ({ listen }) => tcpPlaces({ listen }),
  make: (config, parts) => new ToyDoor({ ...parts, ...config }),
};

type ToyDoorOptions = Pick<DoorParts, "port" | "log" | "peersMax" | "payloadBytesMax"> &
  Readonly<{ listen: ListenAddress; queue: string; makeRouter?: MakeRouter }>;

export class ToyDoor implements DeclaredDoor {
  readonly name = "toy";
  /** Its workers cannot say after a restart which task they hold. */
  readonly forgets = true;
  readonly faults: Faults;
  readonly #options: ToyDoorOptions;
  readonly #router: ReturnType<MakeRouter>;
  readonly #requests = new Requests<RequestAnswer>();
  readonly #peers = new Map<string, ToyDoorPeer>();
  /** Distinguishes connections of this process from those of earlier ones. */
  #life = "";

  constructor(options: ToyDoorOptions) {
    const { log, peersMax, payloadBytesMax: frameBytesMax, makeRouter = realRouter } = options;
    this.#options = options;
    this.faults = new Faults(log, () => options.port.now());
    this.#router = makeRouter({
      limits: { peersMax, frameBytesMax, messageFramesMax: 3 },
      onFault: (peer, kind) => this.faults.add(kind, peer?.address ?? "unknown"),
      onPeer: (peer) => this.#peers.set(this.#nameOf(peer), this.#peerOf(peer)),
      onPeerGone: (peer) => {
        this.#peers.get(this.#nameOf(peer))?.left();
        this.#peers.delete(this.#nameOf(peer));
      },
      onMessage: (peer, frames) => {
        const message = decode(frames);
        const isGood = message && this.#peers.get(this.#nameOf(peer))?.receive(message);
        if (!isGood) this.faults.add("bad_message", peer.address);
      },
    });
  }

  async open(): Promise<DoorAddresses> {
    const { port, listen } = this.#options;
    this.#life = Math.floor(port.now().wall).toString(36);
    return { listen: await bindRouter(this.name, this.#router, listen) };
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "reply") this.#requests.settle(effect.request, effect.answer);
      else if (effect.type === "assign") this.#peers.get(effect.worker.slice("toy/".length))?.assign(effect);
      else if (effect.type === "tell") {
        const client = this.#peers.get(effect.task.replyTo?.address ?? "");
        const { id: task } = effect.task;
        if (client !== undefined) client.tell(effect);
        else this.#options.port.post({ type: "outcome-undelivered", task, again: false });
      }
    }
    this.#router.flush();
  }

  close(): Promise<void> {
    return this.#router.close();
  }

  #peerOf(peer: Peer): ToyDoorPeer {
    const { port, queue } = this.#options;
    const host: ConstructorParameters<typeof ToyDoorPeer>[0] = {
      queue,
      post: (event) => port.post(event),
      request: (take) => this.#requests.open(take),
      send: (message) => ["sent", "queued"].includes(this.#router.sendTo(peer, encode(message))),
    };
    return new ToyDoorPeer(host, this.#nameOf(peer));
  }

  #nameOf(peer: Peer): string {
    return `${this.#life}.${peer.id}`;
  }
}
