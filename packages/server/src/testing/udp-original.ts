// For tests of the udp door: a calculator that behaves like the original program. It sends its
// status as a number at intervals, accepts one task when it is ready and acknowledges it, answers
// status polls, and stops sending its answer after four sends.

import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import type { Json } from "./udp-yard.js";

export interface OriginalCalculatorOptions {
  /** The dispatcher's port. */
  readonly port: number;
  readonly heartbeatMs: number;
  /** Duration of a task; if absent, it never ends. */
  readonly workMs?: number;
  /** It says that it is ready, but accepts nothing. */
  readonly isMute?: boolean;
}

const ready = 0;
const busy = 1;
const sends = 4;
const resendMs = 50;

export class OriginalCalculator {
  readonly #options: OriginalCalculatorOptions;
  readonly #socket: Socket = createSocket("udp4");
  readonly #timers = new Set<NodeJS.Timeout>();
  /** The uuid of each perform_task it received, including repeats. */
  readonly asked: string[] = [];
  /** Number of polls received. */
  polls = 0;
  #status = ready;
  #task: Json | undefined;
  #lastTransmission = 0;

  constructor(options: OriginalCalculatorOptions) {
    this.#options = options;
    this.#socket.on("message", (bytes, from) => this.#receive(JSON.parse(bytes.toString()) as Json, from));
  }

  async open(): Promise<this> {
    this.#socket.bind(0, "127.0.0.1");
    await once(this.#socket, "listening");
    this.#beat();
    this.#timers.add(setInterval(() => this.#beat(), this.#options.heartbeatMs));
    return this;
  }

  get name(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#socket.close();
  }

  #beat(): void {
    this.#send({ method: "heartbeat", params: { status: this.#status }, packet_type: 0 }, this.#options.port);
  }

  #receive(packet: Json, { port }: RemoteInfo): void {
    if (packet.packet_type === 2) this.#lastTransmission = 0;
    else if (packet.method === "perform_task") this.#perform(packet, port);
    else if (packet.method === "status") {
      this.polls += 1;
      this.#send({ ...packet, packet_type: 2, result: { status: this.#status } }, port);
    }
  }

  #perform(packet: Json, port: number): void {
    const params = packet.params as Json;
    this.asked.push(String(params.task_uuid));
    if (this.#options.isMute === true) return;
    if (this.#status === ready) this.#begin(params, port);
    // The original compares the uuid to find out whether this is its current task.
    else if (params.task_uuid !== this.#task?.task_uuid) return;
    this.#send({ ...packet, packet_type: 2 }, port);
  }

  #begin(params: Json, port: number): void {
    this.#status = busy;
    this.#task = params;
    const { workMs } = this.#options;
    if (workMs !== undefined) this.#timers.add(setTimeout(() => this.#complete(params, port), workMs));
  }

  #complete(params: Json, port: number): void {
    this.#status = ready;
    this.#task = undefined;
    this.#lastTransmission = Date.now();
    const answer = {
      method: "completed_task",
      params,
      packet_type: 1,
      transmission_id: this.#lastTransmission,
    };
    for (let sent = 0; sent < sends; sent += 1) {
      const send = () => {
        if (this.#lastTransmission === answer.transmission_id) this.#send(answer, port);
      };
      this.#timers.add(setTimeout(send, sent * resendMs));
    }
  }

  #send(packet: Json, port: number): void {
    this.#socket.send(JSON.stringify(packet), port, "127.0.0.1");
  }
}
