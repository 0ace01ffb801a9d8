// Clients as the dispatcher sees them: what they ask becomes a task and is acknowledged when it is committed; what came
// of it is told, success until it is acknowledged.

import type {
  Answer,
  Effect,
  Moment,
  Outcome,
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

/** What the core answered, and when. */
export type TakeAnswer = (answer: Answer, now: Moment) => void;

export interface DoorClientsHost {
  readonly exchange: UdpExchange;
  post(event: YardEvent): void;
  /** A number for an event that is to be answered, and who takes the answer. */
  request(take: TakeAnswer): RequestId;
  /** Not accepted, and so not acknowledged: the dialect has no word for it. */
  refused(client: UdpAddress, message: string): void;
}

export interface DoorClientsOptions {
  readonly door: string;
  readonly queue: string;
  /** [udp 2.8] How long a task may wait for a calculator. */
  readonly placementMs: number;
}

export class UdpDoorClients {
  readonly #options: DoorClientsOptions;
  readonly #host: DoorClientsHost;
  /** [udp 2.3] Asked and not committed yet, with every packet that asked for it. */
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
    const packets = [packet];
    this.#pending.add(key, packets);
    const request = this.#host.request((answer) => {
      this.#pending.delete(key);
      // [udp 2.4] One that is there already is acknowledged alike.
      if (answer.type === "accepted")
        for (const each of packets) this.#host.exchange.acknowledge(client, each);
      else this.#host.refused(client, answer.type === "refused" ? answer.message : "");
    });
    const { queue, placementMs } = this.#options;
    this.#host.post({
      type: "task-submitted",
      request,
      submission: {
        queue,
        payload: jsonBody(packet.params),
        waitingMsMax: placementMs,
        key,
        replyTo: { address: client.name, isFleeting: false },
        envelope: envelopeOf(taskId, packet.datagram.length),
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
    // [udp 2.8] Once, and whether it arrives is not known.
    this.#host.exchange.tell(client, "notify_task", endedParams(status, taskId, outcome.error?.message));
    this.#host.post({ type: "outcomes-told", tasks: [task.id] });
  }
}

/** [udp 2.6] One telling of a success: a few sends. If none is acknowledged the yard has it told again, later. */
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

/** [udp 2.2] Apart from the keys that other doors' askers choose for the same queue. */
export function keyOf(uuid: string): string {
  return `udp:${uuid}`;
}

/** A retransmission asks for the ack that is on its way; another transmission wants one of its own. */
export function join(packets: Packet[], packet: Packet): void {
  const isKnown = packets.some(({ transmissionId }) => transmissionId === packet.transmissionId);
  if (!isKnown && packets.length < joinedMax) packets.push(packet);
}

/** More askings than this of one task within one commit are no client's. */
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
