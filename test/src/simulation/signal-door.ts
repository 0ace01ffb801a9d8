// The door of the simulated dialect, on the real door kit: peers and their silence, faults, retransmission of what must
// arrive. It keeps nothing that a real door could not keep, and forgets all of it when its process dies.

import {
  type Answer,
  type AttemptNumber,
  Deadline,
  Deadlines,
  type Effect,
  type Instant,
  type Moment,
  type TaskId,
  type WorkerId,
  workerIdOf,
} from "@yardmaster/core";
import {
  type Door,
  type DoorAddresses,
  Faults,
  type Peer,
  Peers,
  type Port,
  Requests,
} from "@yardmaster/server";
import type { Held, Signal, WorkerSignal, YardSignal } from "./signals.js";

const silenceMs = 3_000;
const leaseMs = 4_000;
const wantMs = 2_000;
const resendMs = 100;
const sendsMax = 4;

type Hello = Extract<WorkerSignal, { type: "hello" }>;

interface WorkerSession {
  readonly id: WorkerId;
  readonly hello: Hello;
}

/** Something that is sent until it is acknowledged, or often enough. */
interface Sending {
  readonly to: string;
  readonly signal: YardSignal;
  readonly giveUp: () => void;
  sends: number;
}

export class SignalDoor implements Door {
  readonly name = "sim";
  readonly #port: Port;
  readonly #send: (to: string, signal: YardSignal) => void;
  readonly #workers = new Peers<WorkerSession>(1_000);
  readonly #faults = new Faults(() => {});
  readonly #sendings = new Map<string, Deadline<Sending>>();
  readonly #resends = new Deadlines<Sending>();
  readonly #requests = new Requests<Answer>();
  #isAccepting = true;

  constructor(port: Port, send: (to: string, signal: YardSignal) => void) {
    this.#port = port;
    this.#send = send;
  }

  async open(): Promise<DoorAddresses> {
    return { listen: "yard" };
  }

  stopAccepting(): void {
    this.#isAccepting = false;
  }

  async close(): Promise<void> {}

  receive(from: string, signal: Signal): void {
    switch (signal.type) {
      case "submit":
        return this.#submit(from, signal);
      case "cancel":
        return this.#cancel(from, signal.number);
      case "heard":
        return this.#heard(from, signal.number);
      case "hello":
        return this.#hello(from, signal);
      default:
        this.#fromWorker(from, signal as WorkerSignal);
    }
  }

  /** The peer's connection closed. */
  closed(from: string): void {
    const peer = this.#workers.get(from);
    if (peer !== undefined) this.#lose(peer, "connection_closed");
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) this.#carryOut(effect);
  }

  handleTimeout(now: Moment): void {
    for (let peer = this.#workers.takeSilent(now); peer !== undefined; peer = this.#workers.takeSilent(now)) {
      this.#lose(peer, "silence");
    }
    for (;;) {
      const due = this.#resends.takeDue(now.instant);
      if (due === undefined) return;
      this.#sendAgain(due);
    }
  }

  nextDeadline(): Instant | undefined {
    const silence = this.#workers.nextDeadline();
    const resend = this.#resends.next();
    if (silence === undefined || resend === undefined) return silence ?? resend;
    return silence < resend ? silence : resend;
  }

  #submit(from: string, signal: Extract<Signal, { type: "submit" }>): void {
    if (!this.#isAccepting) return;
    const { number, priority, delayMs, waitingMsMax, attemptTimeoutMs, failures } = signal;
    const bytes = Buffer.from(signal.payload);
    const request = this.#requests.open((answer) => {
      if (answer.type === "accepted") this.#send(from, { type: "accepted", number, task: answer.task });
      else if (answer.type === "refused") this.#send(from, { type: "refused", number, code: answer.code });
    });
    this.#port.post({
      type: "task-submitted",
      request,
      submission: {
        queue: "sim",
        payload: { mediaType: "text/plain", size: bytes.length, bytes },
        key: `${from} ${number}`,
        replyTo: { address: `${from} ${number}`, isFleeting: false },
        priority,
        delayMs,
        waitingMsMax,
        attemptTimeoutMs,
        failures,
      },
    });
  }

  /** The client knows its own numbers only: the key finds the task. */
  #cancel(from: string, number: number): void {
    const request = this.#requests.open((answer) => {
      if (answer.type === "accepted" && answer.existing) {
        this.#port.post({ type: "cancel-asked", task: answer.task, by: from });
      }
    });
    const payload = { mediaType: "text/plain", size: 1e12 };
    const key = `${from} ${number}`;
    // A payload that is never taken: a task that is not there must not be made by cancelling it.
    this.#port.post({ type: "task-submitted", request, submission: { queue: "sim", payload, key } });
  }

  #heard(from: string, number: number): void {
    const task = this.#outcomes.get(`${from} ${number}`);
    this.#stopSending(`outcome ${from} ${number}`);
    if (task !== undefined) this.#port.post({ type: "outcomes-told", tasks: [task] });
  }

  readonly #outcomes = new Map<string, TaskId>();

  #hello(from: string, hello: Hello): void {
    const now = this.#port.now();
    let peer = this.#workers.get(from);
    if (peer !== undefined && peer.session.hello.life > hello.life) return;
    if (peer !== undefined && peer.session.hello.life < hello.life) {
      this.#lose(peer, "restarted");
      peer = undefined;
    }
    peer ??= this.#workers.add(from, { id: workerIdOf(this.name, from), hello });
    if (peer === undefined) return;
    this.#workers.heard(peer, now, silenceMs);
    const { queues, slots, runsAtOnce, pulls, givesBack } = hello;
    const profile = { dialect: "sim", address: from, queues, slots, runsAtOnce, pulls, givesBack };
    this.#port.post({ type: "worker-joined", worker: peer.session.id, profile });
    for (const held of hello.held) this.#beatAttempt(peer, held);
  }

  #fromWorker(from: string, signal: WorkerSignal): void {
    const peer = this.#workers.get(from);
    if (peer === undefined) {
      this.#faults.add("unknown_worker", from, this.#port.now());
      this.#send(from, { type: "who" });
      return;
    }
    this.#workers.heard(peer, this.#port.now(), silenceMs);
    const worker = peer.session.id;
    switch (signal.type) {
      case "beat":
        if (signal.life !== peer.session.hello.life) return this.#send(from, { type: "who" });
        this.#port.post({ type: "worker-beat", worker, queued: signal.queued });
        if (peer.session.hello.pulls) for (const held of signal.held) this.#beatAttempt(peer, held);
        return;
      case "want":
        return this.#want(worker, signal.queue, signal.max);
      case "got":
        return this.#stopSending(workName(from, signal.attempt));
      case "done":
      case "failed":
      case "return":
        return this.#answer(peer, signal);
      case "bye":
        return this.#lose(peer, "goodbye");
      default:
        this.#faults.add("unexpected", from, this.#port.now());
    }
  }

  #answer(
    peer: Peer<WorkerSession>,
    signal: Extract<WorkerSignal, { type: "done" | "failed" | "return" }>,
  ): void {
    const { task, attempt } = signal;
    this.#stopSending(workName(peer.name, attempt));
    const request = this.#requests.open((answer) =>
      this.#send(peer.name, { type: "settled", task, attempt, counted: answer.type === "granted" }),
    );
    const claim = { worker: peer.session.id, task, attempt, request };
    if (signal.type === "failed") {
      this.#port.post({ type: "attempt-failed", error: { code: "sim", message: "drawn" }, ...claim });
      return;
    }
    if (signal.type === "return") {
      const holdMs = signal.reason === "busy" ? 1_000 : 0;
      this.#port.post({ type: "attempt-returned", reason: signal.reason, holdMs, ...claim });
      return;
    }
    const bytes = Buffer.from(signal.result);
    const result = { mediaType: "text/plain", size: bytes.length, bytes };
    this.#port.post({ type: "attempt-done", result, ...claim });
  }

  #want(worker: WorkerId, queue: string, max: number): void {
    const request = this.#requests.open(() => {});
    this.#port.post({ type: "work-wanted", request, worker, queue, max, forMs: wantMs, leaseMs });
  }

  #beatAttempt(peer: Peer<WorkerSession>, { task, attempt }: Held): void {
    const request = this.#requests.open((answer) => {
      const isOver = answer.type === "refused" || (answer.type === "beat" && answer.cancel);
      if (isOver) this.#send(peer.name, { type: "stop", task, attempt });
    });
    const lease = peer.session.hello.pulls ? { leaseMs } : {};
    this.#port.post({ type: "attempt-beat", worker: peer.session.id, task, attempt, request, ...lease });
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case "assign":
        return this.#assign(effect);
      case "tell":
        return this.#tell(effect);
      case "reply":
        this.#requests.settle(effect.request, effect.answer);
        return;
      case "revoke":
        return this.#send(nameOf(effect.worker), {
          type: "stop",
          task: effect.task,
          attempt: effect.attempt,
        });
      case "recall":
        return this.#send(nameOf(effect.worker), { type: "recall", attempts: effect.attempts });
      default:
    }
  }

  #assign({ worker, task, attempt }: Extract<Effect, { type: "assign" }>): void {
    const to = nameOf(worker);
    const payload = Buffer.from(task.payload.bytes ?? new Uint8Array()).toString();
    const signal: YardSignal = { type: "work", task: task.id, attempt, payload };
    this.#sendUntilHeard(workName(to, attempt), to, signal, () =>
      this.#port.post({ type: "attempt-lost", worker, task: task.id, attempt, reason: "send_failed" }),
    );
  }

  #tell({ task, outcome }: Extract<Effect, { type: "tell" }>): void {
    const address = task.replyTo?.address ?? "";
    const [to = "", number = ""] = address.split(" ");
    const result =
      outcome.result?.bytes === undefined ? undefined : Buffer.from(outcome.result.bytes).toString();
    this.#outcomes.set(address, task.id);
    const signal: YardSignal = {
      type: "outcome",
      number: Number(number),
      task: task.id,
      state: outcome.state,
      result,
    };
    this.#sendUntilHeard(`outcome ${address}`, to, signal, () =>
      this.#port.post({ type: "outcome-undelivered", task: task.id, again: true }),
    );
  }

  #lose(peer: Peer<WorkerSession>, reason: "silence" | "connection_closed" | "restarted" | "goodbye"): void {
    this.#workers.remove(peer);
    this.#port.post({ type: "worker-left", worker: peer.session.id, reason });
  }

  #sendUntilHeard(name: string, to: string, signal: YardSignal, giveUp: () => void): void {
    this.#stopSending(name);
    const deadline = new Deadline<Sending>({ to, signal, giveUp, sends: 0 });
    this.#sendings.set(name, deadline);
    this.#sendAgain(deadline);
  }

  #sendAgain(deadline: Deadline<Sending>): void {
    const sending = deadline.subject;
    if (sending.sends === sendsMax) {
      for (const [name, other] of this.#sendings) if (other === deadline) this.#sendings.delete(name);
      sending.giveUp();
      return;
    }
    sending.sends += 1;
    this.#send(sending.to, sending.signal);
    this.#resends.arm(deadline, (this.#port.now().instant + resendMs) as Instant);
  }

  #stopSending(name: string): void {
    const deadline = this.#sendings.get(name);
    if (deadline === undefined) return;
    this.#sendings.delete(name);
    this.#resends.disarm(deadline);
  }
}

function nameOf(worker: WorkerId): string {
  return worker.slice(worker.indexOf("/") + 1);
}

function workName(to: string, attempt: AttemptNumber): string {
  return `work ${to} ${attempt}`;
}
