// Clients as the dispatcher sees them: a request becomes a task and is acknowledged when it is
// committed. Outcomes are delivered; a success is repeated until it is acknowledged.

import type {
  Effect,
  Moment,
  Outcome,
  RequestAnswer,
  RequestId,
  TaskHead,
  TaskId,
  YardEvent,
} from "@yardmaster/core";
import { PassingMap } from "../passing-map.js";
import {
  clientsIdOf,
  endedParams,
  envelopeOf,
  jsonBody,
  roomIn,
  successParams,
  truncatedParams,
} from "./bridge.js";
import { addressIn, uuidOf } from "./codec.js";
import type { AckWaiter, UdpAddress, UdpExchange } from "./exchange.js";
import type { NotifiedStatus, Packet, ParamsText, UdpTaskId } from "./messages.js";

type Tell = Extract<Effect, { type: "tell" }>;

/** Receives the core's answer and the time. */
export type TakeAnswer = (answer: RequestAnswer, now: Moment) => void;

export interface DoorClientsHost {
  readonly exchange: UdpExchange;
  post(event: YardEvent): void;
  /** Returns a number for an event that needs an answer, which `take` receives. */
  request(take: TakeAnswer): RequestId;
  /** Refused, and so not acknowledged: the dialect has no word for it. */
  refused(client: UdpAddress, message: string): void;
  /** Name of the clients' principal, if they have one. */
  by?(): string | undefined;
  /** True if the tasks of this client record that its address is proven. */
  isKeptAsProven?(client: UdpAddress): boolean;
  /** True if the clients' principal has used up its rate. Otherwise counts one submission. */
  isTooFast?(): boolean;
}

export interface DoorClientsOptions {
  readonly door: string;
  readonly queue: string;
  /** [udp 2.8] Maximum wait for a calculator. */
  readonly placementMs: number;
}

export class UdpDoorClients {
  readonly #options: DoorClientsOptions;
  readonly #host: DoorClientsHost;
  /** [udp 2.3] Requests that are not committed yet, with every packet that repeats them. */
  readonly #pending = new PassingMap<string, Packet[]>();

  constructor(options: DoorClientsOptions, host: DoorClientsHost) {
    this.#options = options;
    this.#host = host;
  }

  get pending(): number {
    return this.#pending.size;
  }

  addTask(client: UdpAddress, taskId: UdpTaskId, packet: Packet): void {
    const key = keyOf(uuidOf(client.name, taskId));
    const asked = this.#pending.get(key);
    if (asked !== undefined) {
      join(asked, packet);
      return;
    }
    if (this.#host.isTooFast?.() === true) {
      this.#host.refused(client, "the principal submits too fast");
      return;
    }
    const packets = [packet];
    this.#pending.add(key, packets);
    const request = this.#host.request((answer) => {
      this.#pending.delete(key);
      // [udp 2.4] A repeated request is acknowledged like a new one.
      if (answer.type === "accepted")
        for (const each of packets) this.#host.exchange.acknowledge(client, each);
      else this.#host.refused(client, answer.type === "refused" ? answer.message : "");
    });
    const { queue, placementMs } = this.#options;
    const by = this.#host.by?.();
    this.#host.post({
      type: "task-submitted",
      request,
      submission: {
        queue,
        payload: jsonBody(packet.params),
        waitingMsMax: placementMs,
        key,
        replyTo: { address: client.name, diesWithConnection: false },
        envelope: envelopeOf(taskId, packet.datagram.length, this.#host.isKeptAsProven?.(client)),
        ...(by !== undefined && { by }),
      },
    });
  }

  tell({ task, outcome }: Tell, now: Moment): void {
    const client = clientOf(task);
    if (client === undefined) {
      this.#host.post({ type: "outcome-undelivered", task: task.id, again: false });
      return;
    }
    const taskId = clientsIdOf(task, this.#options.door) ?? task.id;
    const status = statusOf(outcome);
    if (status === "success") {
      const telling = new Telling(task.id, this.#host);
      const { exchange } = this.#host;
      const room = roomIn(task.envelope);
      const ask = (params: ParamsText) =>
        exchange.ask(client, "notify_task", params, telling, now, room) !== undefined;
      if (!ask(successParams(taskId, outcome.result, room))) ask(truncatedParams(taskId, outcome.result));
      return;
    }
    // [udp 2.8] Sent once; whether it arrives is not known.
    this.#host.exchange.tell(client, "notify_task", endedParams(status, taskId, outcome.error?.message));
    this.#host.post({ type: "outcomes-told", tasks: [task.id] });
  }
}

/**
 * [udp 2.6] One delivery of a success: a few sends. If none is acknowledged, the yard repeats the
 * delivery later.
 */
class Telling implements AckWaiter {
  readonly #task: TaskId;
  readonly #host: DoorClientsHost;

  constructor(task: TaskId, host: DoorClientsHost) {
    this.#task = task;
    this.#host = host;
  }

  acknowledged(): void {
    this.#host.post({ type: "outcomes-told", tasks: [this.#task] });
  }

  unanswered(): void {
    this.#host.post({ type: "outcome-undelivered", task: this.#task, again: true });
  }
}

/** [udp 2.2] Kept apart from the keys that clients of other doors choose for the same queue. */
export function keyOf(uuid: string): string {
  return `udp:${uuid}`;
}

/** A retransmission shares the pending ack; another transmission gets its own. */
export function join(packets: Packet[], packet: Packet): void {
  const isKnown = packets.some(({ transmissionId }) => transmissionId === packet.transmissionId);
  if (!isKnown && packets.length < joinedMax) packets.push(packet);
}

/** More requests for one task within one commit do not come from a real client. */
const joinedMax = 16;

function clientOf(task: TaskHead): UdpAddress | undefined {
  const name = task.replyTo?.address ?? "";
  const address = addressIn(name);
  return address && { host: address.host, port: address.port, name };
}

function statusOf({ state }: Outcome): NotifiedStatus {
  if (state === "done") return "success";
  return state === "expired" ? "failed_post" : "error";
}
