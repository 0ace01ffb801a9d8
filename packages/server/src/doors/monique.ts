// The monique door: both channels and a PUSH socket per controller, around the dialect's scheduler.

import { type Effect, earlier, type Instant, type Moment, type RequestAnswer } from "@yardmaster/core";
import { monique } from "@yardmaster/dialects";
import { type Peer, type SocketOptions, Totals } from "@yardmaster/zmtp";
import type { Right } from "../access/rights.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults } from "../door-kit/faults.js";
import { FrameNotes } from "../door-kit/frame-notes.js";
import { Requests } from "../door-kit/requests.js";
import { socketOptions, type ZmqDoorOptions } from "../door-kit/zmq-door.js";
import { ZmqGuard } from "../door-kit/zmq-guard.js";
import { Channel, type ChannelOptions } from "../monique/channel.js";
import { ControllerSockets } from "../monique/controller-sockets.js";
import { type MoniqueSockets, realMoniqueSockets } from "../monique/sockets.js";
import type { DoorConfig } from "../registry/doors.js";

export interface MoniqueDoorOptions extends ZmqDoorOptions<DoorConfig<"monique">> {
  /** Other queues: a question whose spec has one of these names is a task. */
  readonly queues: readonly string[];
  readonly sockets?: MoniqueSockets;
  /** [monique 2.8] How long a new client has to send its subscriptions. */
  readonly settleMs?: number;
}

/** A spec for the API, with the port of its controller. */
export interface ShownSpec extends monique.SpecView {
  readonly port: number | null;
}

/**
 * [monique 2.8] libzmq reconnects every 0.1 to 0.2 s, so most of its clients are back within this
 * time.
 */
const settleMsDefault = 1_000;
/** A tag, and the fields around the data. */
const envelopeBytesMax = 64 * 1024;

export class MoniqueDoor implements Door {
  readonly name = "monique";
  readonly faults: Faults;
  readonly #port: Port;
  readonly #notes: FrameNotes<string>;
  readonly #sockets: MoniqueSockets;
  /** The options that all sockets share. */
  readonly #common: SocketOptions;
  readonly #specs: monique.SpecRegister;
  readonly #guard: ZmqGuard;
  readonly #scheduler: monique.MoniqueScheduler<Peer>;
  readonly #com: Channel;
  readonly #tech: Channel;
  readonly #controllers: ControllerSockets;
  readonly #requests = new Requests<RequestAnswer>();
  #config: DoorConfig<"monique">;
  /** Distinguishes connections of this process from those of earlier ones. */
  #life = "";

  constructor(options: MoniqueDoorOptions) {
    const { port, config, queues, payloadBytesMax, log, tap, sockets, access } = options;
    this.#guard = new ZmqGuard(this.name, access, config.security, () => port.now().instant);
    this.#port = port;
    this.#config = config;
    this.faults = new Faults(log, () => port.now());
    this.#notes = new FrameNotes<string>({
      door: this.name,
      tap,
      shownBytesMax,
      shownPeer: (name, type) => ({ name, side: type === "controller" ? "worker" : undefined }),
      frameName: (index) => (index === 0 ? "tag" : `content ${index}`),
    });
    this.#sockets = sockets ?? realMoniqueSockets;
    this.#common = {
      ...socketOptions(options, {
        guard: this.#guard,
        faults: this.faults,
        largestBytes: payloadBytesMax,
        limits: {
          frameBytesMax: payloadBytesMax + envelopeBytesMax,
          messageBytesMax: payloadBytesMax + 2 * envelopeBytesMax,
        },
      }),
      totals: new Totals(),
    };
    this.#specs = new monique.SpecRegister({ ...config, queues });
    const { form, prefetch } = config;
    this.#scheduler = new monique.MoniqueScheduler<Peer>(
      { door: this.name, form, prefetch, specs: this.#specs },
      this.#host(),
    );
    this.#controllers = new ControllerSockets({
      door: this.name,
      sockets: this.#sockets,
      guard: this.#guard,
      common: this.#common,
      came: (peer, spec) => {
        const name = `${spec}.${this.#life}.${peer.id.toString(36)}`;
        this.#scheduler.controller.came(peer, spec, name, peer.address);
      },
      went: (peer, wasSilent) =>
        this.#scheduler.controller.went(peer, wasSilent ? "silence" : "connection_closed"),
      denied: (peer, spec) => this.faults.add("denied", peer.address, `it may not work for ${spec}`),
    });
    const settleMs = options.settleMs ?? settleMsDefault;
    this.#com = this.#channel("com", { settleMs }, (frames, sender) =>
      this.#scheduler.receive(frames, sender),
    );
    // [monique 6.4] A kill is answered where questions are.
    this.#tech = this.#channel("tech", { settleMs, answeredOn: this.#com }, (frames, sender) =>
      this.#scheduler.receiveTech(frames, sender),
    );
  }

  async open(): Promise<DoorAddresses> {
    const now = this.#port.now();
    this.#life = Math.floor(now.wall).toString(36);
    const config = this.#config;
    const [input, out] = await this.#com.bind(this.name, config.in, config.out);
    const [techIn, techOut] = await this.#tech.bind(this.name, config.techIn, config.techOut);
    const controllers = await this.#openControllers();
    this.#scheduler.opened();
    return { in: input, out, techIn, techOut, ...controllers };
  }

  /**
   * [monique 8.2] Opens new specs and ports and returns their addresses. Removed ones stay until a
   * restart. Takes up a new server key.
   */
  async reload(config: DoorConfig<"monique">, queues: readonly string[]): Promise<DoorAddresses> {
    const { allowMessages, specs, security } = config;
    this.#guard.reload(security);
    const controllers = { ...this.#config.controllers, ...config.controllers };
    this.#config = { ...this.#config, allowMessages, specs, controllers };
    this.#specs.apply({ ...this.#config, queues });
    return this.#openControllers();
  }

  /** Every spec that is registered, has a controller or was seen. */
  specs(): readonly ShownSpec[] {
    return this.#specs.list().map((spec) => ({ ...spec, port: this.#controllers.portOf(spec.name) }));
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "reply") this.#requests.settle(effect.request, effect.answer);
      else if (effect.type === "dismiss") this.#dismiss(effect);
      else this.#scheduler.deliver(effect);
    }
    // Effects arrive at the end of a turn, so there is nothing to wait for.
    this.#controllers.flush();
    this.#com.flush();
    this.#tech.flush();
  }

  handleTimeout(now: Moment): void {
    this.#com.handleTimeout(now);
    this.#tech.handleTimeout(now);
    this.#scheduler.components.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    const ofChannels = earlier(this.#com.nextDeadline(), this.#tech.nextDeadline());
    return earlier(ofChannels, this.#scheduler.components.nextDeadline());
  }

  async close(): Promise<void> {
    await Promise.all([this.#com.close(), this.#tech.close(), this.#controllers.close()]);
  }

  #openControllers(): Promise<Record<string, string>> {
    return this.#controllers.open(this.#config.in.host, this.#config.controllers);
  }

  #channel(
    name: "com" | "tech",
    settling: Pick<ChannelOptions, "settleMs" | "answeredOn">,
    receive: (frames: Buffer[], sender: monique.Sender<Peer>) => void,
  ): Channel {
    return new Channel({
      common: this.#common,
      guard: this.#guard,
      sockets: this.#sockets,
      ...settling,
      now: () => this.#port.now(),
      onMessage: (sender, frames) => {
        this.#notes.note("in", sender.address, name, frames);
        receive(frames, sender);
      },
    });
  }

  #host(): monique.SchedulerHost<Peer> {
    return {
      now: () => this.#port.now(),
      post: (event) => this.#port.post(event),
      request: (take) => this.#requests.open(take),
      publish: (frames, audience) => this.#publish(this.#com, "com", frames, audience),
      publishTech: (frames) => void this.#publish(this.#tech, "tech", frames),
      push: (peer, frames) => this.#push(peer, frames),
      may: (peer, right, spec) => this.#may(peer, right, spec),
      by: (peer) => this.#guard.by(peer),
      submitted: (peer) => this.#guard.submitted(peer),
      holdBack: (peer, ms) => {
        this.#com.holdBack(peer, this.#port.now(), ms);
        this.#tech.holdBack(peer, this.#port.now(), ms);
      },
      readTask: (id, take) => void this.#port.reads.task(id).then((task) => take(task?.head)),
      fault: (kind, sender, detail) => this.faults.add(kind, sender, detail),
    };
  }

  #may(peer: Peer, right: Right, spec: string): boolean {
    const rights = this.#guard.principalOf(peer)?.rights;
    if (rights === undefined) return true;
    if (spec === monique.everySpec) return rights.mayForAll(right);
    return spec === monique.someSpec ? rights.mayForSome(right) : this.#guard.may(peer, right, spec);
  }

  #publish(
    channel: Channel,
    name: "com" | "tech",
    frames: monique.Frames,
    audience?: monique.Audience,
  ): number {
    // The message goes to the client's own subscribers first and then to the others, but is shown
    // once.
    if (audience?.isOwn !== false) this.#notes.note("out", "subscribers", name, frames);
    return channel.publish(frames, audience);
  }

  #push(peer: Peer, frames: monique.Frames): boolean {
    if (!this.#controllers.has(peer)) return false;
    this.#notes.note("out", peer.address, "controller", frames);
    return this.#controllers.send(peer, frames);
  }

  /** The core has no room for this worker. Its connection is closed, and it will try again. */
  #dismiss({ worker, message }: Extract<Effect, { type: "dismiss" }>): void {
    const dismissed = this.#scheduler.controller.dismiss(worker);
    if (dismissed === undefined) return;
    this.faults.add("too_many_workers", dismissed.address, message);
    this.#controllers.disconnect(dismissed.peer);
  }
}

/** Usually a whole tag, and the beginning of a content. */
const shownBytesMax = 160;
