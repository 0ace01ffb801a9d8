// The udp door: one socket for clients and calculators, around the dialect's sessions.

import {
  type Answer,
  type Effect,
  type Instant,
  type Moment,
  type TaskHead,
  type TaskId,
  workerIdOf,
} from "@yardmaster/core";
import { Recent, udp } from "@yardmaster/dialects";
import type { DoorConfig } from "../config/door-settings.js";
import { type DatagramSocket, type MakeDatagramSocket, realDatagramSocket } from "../door-kit/datagrams.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults, type LogFault } from "../door-kit/faults.js";
import { listenAt } from "../door-kit/listening.js";
import { Peers } from "../door-kit/peers.js";
import { ReadBacklog } from "../door-kit/read-backlog.js";
import { Requests } from "../door-kit/requests.js";
import type { Tap } from "../door-kit/tap.js";
import { showListenAddress } from "../listen-address.js";

export interface UdpDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"udp">;
  readonly peersMax: number;
  readonly log: LogFault;
  readonly tap: Tap;
  readonly makeSocket?: MakeDatagramSocket;
}

/** [udp 3.9] Lost tasks whose answers may still come; each is kept under two names. */
const lostMax = 20_000;
/** [udp 3.9] Longer than the time of grace in which workers may come back for what they held. */
const recoveryMs = 60_000;
/** Answers that are being looked up; more than this many at once are no calculators coming back. */
const lookUpsMax = 1_000;
/** [udp 1.7] While acks may lie unread, nothing is sent again for so long at a time, and no longer than that in all. */
const behindMs = 10;
const behindMsMax = 500;
/** A worker's newest tasks: the one it came back for is among them. */
const newestMax = 16;

export class UdpDoor implements Door {
  readonly name = "udp";
  readonly faults: Faults;
  readonly #port: Port;
  readonly #config: DoorConfig<"udp">;
  readonly #tap: Tap;
  readonly #settings: udp.CalculatorSettings;
  readonly #socket: DatagramSocket;
  readonly #exchange: udp.UdpExchange;
  readonly #clients: udp.UdpDoorClients;
  readonly #known: Peers<udp.UdpDoorCalculator>;
  readonly #requests = new Requests<Answer>();
  /** Who was heard last at each port: no more than there are ports. */
  readonly #addresses = new Map<number, udp.UdpAddress>();
  readonly #lost = new Recent<string, udp.HeldTask>(lostMax);
  readonly #host: udp.CalculatorHost & udp.DoorClientsHost;
  readonly #backlog = new ReadBacklog();
  /** Nothing is sent again before. */
  #resendsFrom = 0 as Instant;
  #recoversUntil = 0 as Instant;
  #openedAt = 0;
  #lookUps = 0;

  constructor({ port, config, peersMax, log, tap, makeSocket = realDatagramSocket }: UdpDoorOptions) {
    this.#port = port;
    this.#config = config;
    this.#tap = tap;
    this.faults = new Faults(log);
    this.#known = new Peers(peersMax);
    this.#socket = makeSocket((bytes, host, peerPort) => this.#receive(bytes, host, peerPort));
    const retransmission = { sends: config.sends, everyMs: config.resendSeconds * 1000 };
    this.#settings = {
      ...udp.defaultCalculatorSettings,
      pollMs: config.activity_poll_sec * 1000,
      silenceMs: config.inactivity_timeout * 1000,
      executionMs: config.timeout_task_execution * 1000,
      answerMs: Math.max(
        udp.defaultCalculatorSettings.answerMs,
        (retransmission.sends + 1) * retransmission.everyMs,
      ),
    };
    this.#exchange = new udp.UdpExchange(retransmission, (bytes, to, method) => {
      this.#note("out", to.name, method, bytes);
      if (!this.#socket.send(bytes, to)) this.#fault("send_queue_full", to.name);
    });
    this.#host = {
      exchange: this.#exchange,
      post: (event) => this.#port.post(event),
      request: (take) => this.#requests.open((answer) => take(answer, this.#port.now())),
      refused: (client, message) => this.#fault("refused", client.name, message),
      lost: (calculator, held) => this.#remember(calculator, held),
      watch: (calculator) => this.#watch(calculator),
      left: (calculator) => this.#forget(calculator),
    };
    this.#clients = new udp.UdpDoorClients(
      { door: this.name, queue: config.queue, placementMs: config.timeout_task_placement * 1000 },
      this.#host,
    );
  }

  async open(): Promise<DoorAddresses> {
    const address = this.#config.client_address;
    const bound = await listenAt(this.name, address, () => this.#socket.bind(address));
    const now = this.#port.now();
    this.#recoversUntil = (now.instant + recoveryMs) as Instant;
    this.#openedAt = now.wall;
    this.#adoptAll(now);
    return { client_address: showListenAddress(bound) };
  }

  /** [udp 3.11] The calculators of an earlier life of ours. */
  #adoptAll(now: Moment): void {
    for (const [memo, bytes] of this.#port.takeMemos()) {
      const remembered = udp.readCalculator(memo, bytes);
      const calculator = remembered && this.#calculatorAt(remembered.address);
      if (remembered !== undefined && calculator !== undefined) calculator.adopt(remembered.form, now);
      else this.#port.post({ type: "memo-dropped", name: memo });
    }
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "assign") {
        this.#calculatorOf(effect.worker)?.session.assign(effect, this.#port.now());
      } else if (effect.type === "reply") this.#requests.settle(effect.request, effect.answer);
      else if (effect.type === "tell") this.#clients.tell(effect, this.#port.now());
      else if (effect.type === "dismiss") this.#dismiss(effect);
    }
  }

  handleTimeout(now: Moment): void {
    if (!this.#isExcused(now)) this.#exchange.handleTimeout(now);
    for (let peer = this.#known.takeSilent(now); peer !== undefined; peer = this.#known.takeSilent(now)) {
      peer.session.handleTimeout(now);
    }
  }

  nextDeadline(): Instant | undefined {
    const due = this.#exchange.nextDeadline();
    const resend = due === undefined || due > this.#resendsFrom ? due : this.#resendsFrom;
    const silence = this.#known.nextDeadline();
    if (resend === undefined || silence === undefined) return resend ?? silence;
    return resend < silence ? resend : silence;
  }

  /** [udp 1.7] Whether acks that have not come may be here already, because there is more to read than we get round to. */
  #isExcused(now: Moment): boolean {
    const due = this.#exchange.nextDeadline();
    if (due === undefined || due > now.instant) return false;
    if (now.instant < this.#resendsFrom) return true;
    if (!this.#backlog.takeIsBehind() || now.instant - due >= behindMsMax) return false;
    this.#resendsFrom = (now.instant + behindMs) as Instant;
    return true;
  }

  /** What still comes is refused by the core, and so not acknowledged. */
  stopAccepting(): void {}

  close(): Promise<void> {
    return this.#socket.close();
  }

  #receive(bytes: Buffer, host: string, port: number): void {
    const now = this.#port.now();
    this.#backlog.read(now);
    const from = this.#addressAt(host, port);
    const echoed = this.#exchange.receiveEcho(from, bytes, now);
    if (echoed !== undefined) {
      this.#note("in", from.name, echoed, bytes);
      return;
    }
    const reading = udp.readPacket(bytes);
    if (!reading.ok) {
      this.#fault(reading.fault, from.name);
      return;
    }
    const packet = reading.message;
    this.#note("in", from.name, packet.method, bytes);
    if (packet.packetType !== 2) this.#request(from, packet);
    // [udp 1.4] Nobody waits for it, or not for one from there.
    else if (!this.#exchange.receiveAck(from, packet, now)) {
      this.#fault("unexpected_ack", from.name);
    }
  }

  /** The address by its name, which is made once for whoever goes on speaking: it is looked up by it time and again. */
  #addressAt(host: string, port: number): udp.UdpAddress {
    const known = this.#addresses.get(port);
    if (known?.host === host) return known;
    const address = { host, port, name: `${host}:${port}` };
    this.#addresses.set(port, address);
    return address;
  }

  #request(from: udp.UdpAddress, packet: udp.Packet): void {
    const reading = udp.readRequest(packet);
    if (!reading.ok) {
      this.#fault(reading.fault, from.name);
      return;
    }
    const request = reading.message;
    switch (request.type) {
      case "add_task":
        this.#clients.addTask(from, request.taskId, packet);
        return;
      case "heartbeat":
        this.#calculatorAt(from)?.heartbeat(request.status, request.form, this.#port.now());
        this.#exchange.acknowledge(from, packet);
        return;
      case "completed_task":
        this.#completed(from, request.names, packet);
        return;
      default:
        request satisfies never;
    }
  }

  #completed(from: udp.UdpAddress, names: udp.TaskNames, packet: udp.Packet): void {
    const now = this.#port.now();
    const calculator = this.#calculatorAt(from);
    if (calculator === undefined || calculator.completed(names, packet, now)) return;
    const lost = this.#lost.get(lostKey(from.name, names.uuid ?? names.taskId));
    // [udp 3.9] It comes too late, and may stop saying so.
    if (lost !== undefined) calculator.completedUnheld(lost, packet, () => true);
    else if (now.instant < this.#recoversUntil && this.#lookUps < lookUpsMax) {
      void this.#recover(calculator, names, packet);
    } else this.#notIts(calculator);
  }

  /** [udp 3.9] It may have been given the task before we were started. */
  async #recover(calculator: udp.UdpDoorCalculator, names: udp.TaskNames, packet: udp.Packet): Promise<void> {
    this.#lookUps += 1;
    const head = await this.#lookUp(calculator, names);
    this.#lookUps -= 1;
    if (head === undefined) {
      this.#notIts(calculator);
      return;
    }
    const held = { ...udp.nameTask(head, this.name), task: head.id, attempt: undefined };
    calculator.completedUnheld(held, packet, () => {
      this.#fault("not_its_task", calculator.address.name);
      // It may have had it before our restart, and then its answer was taken, or comes too late: it may stop saying so.
      return head.submittedAt < this.#openedAt;
    });
  }

  async #lookUp(
    { id }: udp.UdpDoorCalculator,
    { uuid, taskId }: udp.TaskNames,
  ): Promise<TaskHead | undefined> {
    const { reads } = this.#port;
    if (uuid === undefined) {
      const { items } = await reads.find({ worker: id, limit: newestMax });
      return items
        .map(({ head }) => head)
        .find((head) => String(udp.nameTask(head, this.name).taskId) === String(taskId));
    }
    const number = udp.yardNumberIn(uuid);
    if (number !== undefined) return (await reads.task(number as TaskId))?.head;
    const { items } = await reads.find({ queue: this.#config.queue, text: udp.keyOf(uuid), limit: 1 });
    return items[0]?.head;
  }

  /** [udp 3.4] Only the calculator that holds a task can answer it; still, this one shows that it is there. */
  #notIts(calculator: udp.UdpDoorCalculator): void {
    this.#fault("not_its_task", calculator.address.name);
    calculator.seemsReady(false);
  }

  /** [udp 3.1] The calculator at this address, which is one from now on; undefined when there are too many. */
  #calculatorAt(address: udp.UdpAddress): udp.UdpDoorCalculator | undefined {
    const known = this.#known.get(address.name);
    if (known !== undefined) return known.session;
    const { queue } = this.#config;
    const id = workerIdOf(this.name, address.name);
    const options = { id, address, door: this.name, queue, settings: this.#settings };
    const calculator = new udp.UdpDoorCalculator(options, this.#host);
    if (this.#known.add(address.name, calculator) !== undefined) return calculator;
    this.#fault("too_many_calculators", address.name);
    return undefined;
  }

  #calculatorOf(worker: string) {
    return this.#known.get(worker.slice(this.name.length + 1));
  }

  #dismiss({ worker, message }: Extract<Effect, { type: "dismiss" }>): void {
    const calculator = this.#calculatorOf(worker)?.session;
    if (calculator === undefined) return;
    calculator.dismiss();
    this.#fault("too_many_calculators", calculator.address.name, message);
  }

  #watch(calculator: udp.UdpDoorCalculator): void {
    const peer = this.#known.get(calculator.address.name);
    if (peer === undefined) return;
    const deadline = calculator.nextDeadline();
    const now = this.#port.now();
    if (deadline === undefined) this.#known.excuse(peer);
    else this.#known.heard(peer, now, deadline - now.instant);
  }

  #forget(calculator: udp.UdpDoorCalculator): void {
    const peer = this.#known.get(calculator.address.name);
    if (peer !== undefined) this.#known.remove(peer);
  }

  #remember(calculator: udp.UdpDoorCalculator, held: udp.HeldTask): void {
    for (const name of [held.uuid, held.taskId]) {
      this.#lost.set(lostKey(calculator.address.name, name), held);
    }
  }

  #fault(kind: string, peer: string, detail = ""): void {
    this.faults.add(kind, peer, this.#port.now(), detail);
  }

  #note(direction: "in" | "out", peer: string, type: string, bytes: Buffer): void {
    this.#tap.count(this.name, direction, type, bytes.length);
    if (!this.#tap.isOpen) return;
    const content = bytes.subarray(0, udp.datagramBytesOutMax).toString();
    this.#tap.show({ door: this.name, direction, peer, type, bytes: bytes.length, content });
  }
}

function lostKey(calculator: string, task: string | number | undefined): string {
  return `${calculator} ${task}`;
}
