// For tests: the dispatcher's end without a network. It records what is sent and posted, and
// answers on request.

import type {
  AttemptNumber,
  Body,
  Instant,
  Moment,
  RequestAnswer,
  TaskHead,
  TaskId,
  WorkerId,
  YardEvent,
} from "@yardmaster/core";
import { jsonBody } from "../bridge.js";
import type { HeldTask } from "../calculator-job.js";
import { readPacket, writePacket } from "../codec.js";
import { type CalculatorSettings, defaultCalculatorSettings, UdpDoorCalculator } from "../door-calculator.js";
import { type TakeAnswer, UdpDoorClients } from "../door-clients.js";
import { defaultRetransmission, type UdpAddress, UdpExchange } from "../exchange.js";
import type { Packet, PacketType, Params } from "../messages.js";

export function momentAt(ms: number): Moment {
  return { instant: ms as Instant, wall: ms } as Moment;
}

export function addressOf(port: number): UdpAddress {
  return { host: "10.0.0.1", port, name: `10.0.0.1:${port}` };
}

export function packetOf(
  method: string,
  params: Params,
  type: PacketType = 0,
  transmission?: number,
): Packet {
  const reading = readPacket(writePacket(method, params, type, transmission));
  if (!reading.ok) throw new Error(reading.fault);
  return reading.message;
}

export class DoorEnd {
  now = 1_000;
  /** Every datagram, as `method type`, with its JSON. */
  readonly sent: { readonly to: string; readonly packet: Record<string, unknown> }[] = [];
  readonly posted: YardEvent[] = [];
  /** Memos written and not dropped since. */
  readonly memos = new Map<string, string>();
  readonly refusals: string[] = [];
  readonly lost: HeldTask[] = [];
  left = 0;
  readonly #takes: TakeAnswer[] = [];
  readonly exchange = new UdpExchange(defaultRetransmission, (bytes, to) =>
    this.sent.push({ to: to.name, packet: JSON.parse(bytes.toString()) as Record<string, unknown> }),
  );
  readonly host = {
    exchange: this.exchange,
    post: (event: YardEvent) => {
      if (event.type === "memo-written") this.memos.set(event.name, Buffer.from(event.bytes).toString());
      else if (event.type === "memo-dropped") this.memos.delete(event.name);
      else this.posted.push(event);
    },
    request: (take: TakeAnswer) => this.#takes.push(take),
    refused: (client: UdpAddress, message: string) => this.refusals.push(`${client.name} ${message}`),
    lost: (_calculator: UdpDoorCalculator, held: HeldTask) => this.lost.push(held),
    watch: () => {},
    left: () => {
      this.left += 1;
    },
  };

  get moment(): Moment {
    return momentAt(this.now);
  }

  clients(): UdpDoorClients {
    return new UdpDoorClients({ door: "udp", queue: "q", placementMs: 60_000 }, this.host);
  }

  calculator(port = 7000, settings: Partial<CalculatorSettings> = {}): UdpDoorCalculator {
    const address = addressOf(port);
    const id = `udp/${address.name}` as WorkerId;
    return new UdpDoorCalculator(
      { id, address, door: "udp", queue: "q", settings: { ...defaultCalculatorSettings, ...settings } },
      this.host,
    );
  }

  /** Answers the first open request as the core would. */
  answer(answer: RequestAnswer): void {
    this.#takes.shift()?.(answer, this.moment);
  }

  /** What was sent since the last call, one line each. */
  takeSent(): string[] {
    return this.sent.splice(0).map(({ packet: { method, packet_type, params } }) => {
      return `${method} ${packet_type} ${JSON.stringify(params)}`;
    });
  }

  takePosted(): string[] {
    return this.posted.splice(0).map(briefEvent);
  }

  /** Acknowledges the last packet as the peer would. */
  acknowledgeLast(from: UdpAddress, result?: Params): boolean {
    const packet = this.sent.at(-1)?.packet ?? {};
    const reading = readPacket(Buffer.from(JSON.stringify({ ...packet, packet_type: 2, result })));
    return reading.ok && this.exchange.receiveAck(from, reading.message, this.moment);
  }

  /** Lets time pass for the exchange and one calculator. */
  pass(ms: number, calculator?: UdpDoorCalculator): void {
    const end = this.now + ms;
    for (;;) {
      const next = Math.min(
        this.exchange.nextDeadline() ?? Number.POSITIVE_INFINITY,
        calculator?.nextDeadline() ?? Number.POSITIVE_INFINITY,
      );
      if (next > end) break;
      this.now = Math.max(this.now, next);
      this.exchange.handleTimeout(this.moment);
      calculator?.handleTimeout(this.moment);
    }
    this.now = end;
  }
}

export interface TaskOptions {
  readonly id?: number;
  readonly payload?: Body;
  readonly client?: string;
  readonly taskId?: number | string;
  readonly door?: string;
  readonly attemptTimeoutMs?: number;
}

export function taskHead(options: TaskOptions = {}): TaskHead {
  const { id = 1, payload, client, taskId, door = "udp", attemptTimeoutMs = 0 } = options;
  return {
    id: id as TaskId,
    door,
    policy: { attempts: 5, failures: 1, attemptTimeoutMs, waitingMsMax: 0 },
    payload: payload ?? jsonBody({ task_id: taskId }),
    replyTo: client === undefined ? undefined : { address: client, diesWithConnection: false },
    envelope: taskId === undefined ? undefined : Buffer.from(JSON.stringify(taskId)),
  } as TaskHead;
}

export function assignTo(calculator: UdpDoorCalculator, task: TaskHead, now: Moment): void {
  const attempt = (100 + task.id) as AttemptNumber;
  calculator.assign(
    { type: "assign", door: "udp", worker: calculator.id, task, attempt, leaseMs: 0, request: undefined },
    now,
  );
}

function briefEvent(event: YardEvent): string {
  switch (event.type) {
    case "worker-joined":
      return `joined ${event.profile.slots}`;
    case "worker-beat":
      return event.info === undefined ? "beat" : `is ${event.info.status} (${event.info.form})`;
    case "worker-left":
      return `left ${event.reason}`;
    case "attempt-done":
      return `done ${event.task} ${Buffer.from(event.result.bytes ?? []).toString()}${event.isOfBefore ? " of before" : ""}`;
    case "attempt-failed":
      return `failed ${event.task} ${event.error.message}`;
    case "attempt-lost":
      return `lost ${event.task} ${event.reason}`;
    case "attempt-returned":
      return `returned ${event.task} ${event.reason}`;
    case "task-submitted":
      return `submitted ${event.submission.key}`;
    case "outcomes-told":
      return `told ${event.tasks.join(" ")}`;
    case "outcome-undelivered":
      return `undelivered ${event.task} ${event.again ? "again" : "gone"}`;
    default:
      return "task" in event ? `${event.type} ${event.task}` : event.type;
  }
}
