// A pulse worker: give it the controller's folder and a function, and it works until it is stopped.

import { rmSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { pulse } from "@yardmaster/dialects";
import { InterruptedError } from "../errors.js";
import { messageOf } from "../failure.js";
import { now, SessionTimer, timerMs } from "../time.js";

/** Options of a pulse worker. */
export interface PulseWorkerOptions extends Partial<pulse.PulseWorkerSettings> {
  /** The folder of the controller's sockets. */
  readonly dir: string;
  /**
   * Turns a task's bytes into those of its solution. An exception is reported as TASK_FAILED, and
   * the task goes to another worker.
   */
  readonly work: (payload: Buffer, signal: AbortSignal, task: bigint) => Promise<Buffer> | Buffer;
  /** Default "document". */
  readonly numbering?: pulse.Numbering;
  /** Called with true when a controller answers, and with false when none does. */
  readonly onContact?: (isThere: boolean) => void;
  /** Called with what `work` throws. */
  readonly onError?: (error: unknown) => void;
}

/** A controller that accepts a connection but does not answer within this time counts as absent. */
const answerMsMax = 10_000;

/** A worker of a pulse controller. It runs one task at a time. */
export class PulseWorker {
  readonly #options: PulseWorkerOptions;
  readonly #numbering: pulse.Numbering;
  readonly #session: pulse.PulseWorkerSession;
  readonly #timer = new SessionTimer(() => this.#turn(() => this.#session.handleTimeout(now())));
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #abort = new AbortController();
  #work: Promise<void> = Promise.resolve();
  #whenIdle: (() => void) | undefined;
  #end: () => void = () => {};
  /** Resolves when it has sent SHUTDOWN, or has received RESTART and ends because of it. */
  readonly ended = new Promise<void>((done) => {
    this.#end = done;
  });

  constructor(options: PulseWorkerOptions) {
    this.#options = options;
    this.#numbering = options.numbering ?? "document";
    this.#session = new pulse.PulseWorkerSession(
      { ...pulse.defaultPulseWorkerSettings, ...settingsOf(options) },
      {
        pulse: (message) => this.#pulse(message),
        listen: (id) => this.#listen(id),
        work: (task, payload) => {
          this.#work = this.#run(task, payload);
        },
        abandon: () => this.#interrupt("lost"),
        ended: () => this.#close(),
      },
    );
    this.#turn(() => this.#session.start(now()));
  }

  /** Its current id; 0 while it is not registered. */
  get id(): bigint {
    return this.#session.id;
  }

  /**
   * Lets the current task finish and be fetched, then sends SHUTDOWN. After the grace period its
   * signal fires.
   */
  async stop({ graceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    const late =
      graceMs === undefined ? undefined : setTimeout(() => this.#interrupt("stopping"), timerMs(graceMs));
    await this.#work;
    clearTimeout(late);
    if (!this.#session.isIdle) {
      await new Promise<void>((done) => {
        this.#whenIdle = done;
      });
    }
    this.#turn(() => this.#session.stop(now()));
    await this.ended;
  }

  #close(): void {
    this.#timer.stop();
    // Deferred, because RESTART is answered in this turn.
    setImmediate(() => {
      this.#closeServer();
      this.#end();
    });
  }

  #interrupt(code: "lost" | "stopping"): void {
    this.#abort.abort(new InterruptedError(code));
  }

  #pulse(message: pulse.WorkerPulse): void {
    const socket = createConnection(join(this.#options.dir, "main.sock"));
    const framer = new pulse.MessageFramer(
      (bytes) => pulse.readPulseResponse(bytes, this.#numbering),
      pulse.noExtra,
    );
    let isOver = false;
    const over = (isThere: boolean, tell: () => void) => {
      if (isOver) return;
      isOver = true;
      socket.destroy();
      this.#options.onContact?.(isThere);
      this.#turn(tell);
    };
    const unanswered = () => over(false, () => this.#session.unanswered(now()));
    socket.setTimeout(answerMsMax, unanswered);
    socket.on("error", unanswered);
    socket.on("close", unanswered);
    socket.on("data", (chunk) => {
      const reading = framer.push(chunk);
      if (reading?.ok) over(true, () => this.#session.answered(reading.message.message, now()));
      else if (reading !== undefined) unanswered();
    });
    socket.write(pulse.writePulse(message, this.#numbering));
  }

  #listen(id: bigint): void {
    this.#closeServer();
    const path = join(this.#options.dir, `${id}.sock`);
    rmSync(path, { force: true });
    const server: Server = createServer((socket) => this.#accept(socket, server));
    server.on("error", (error) => this.#options.onError?.(error));
    this.#server = server;
    server.listen(path, () => this.#turn(() => this.#session.listening(now())));
  }

  #closeServer(): void {
    for (const socket of this.#sockets) socket.destroySoon();
    this.#server?.close();
  }

  #accept(socket: Socket, server: Server): void {
    this.#sockets.add(socket);
    const framer = new pulse.MessageFramer(
      (bytes) => pulse.readControl(bytes, this.#numbering),
      pulse.extraSizeOf,
    );
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("data", (chunk) => {
      // Messages to an earlier id are ignored.
      if (server !== this.#server) {
        socket.destroy();
        return;
      }
      const reading = framer.push(chunk);
      if (reading?.ok) this.#turn(() => this.#answer(socket, reading.message));
      else if (reading !== undefined) socket.destroy();
    });
  }

  #answer(socket: Socket, asked: pulse.WithExtra<pulse.ControlMessage>): void {
    const { message, extra } = this.#session.control(asked, now());
    socket.write(pulse.writeWorkerResponse(message, this.#numbering));
    socket.end(extra);
  }

  async #run(task: bigint, payload: Buffer): Promise<void> {
    this.#abort = new AbortController();
    try {
      const solution = await this.#options.work(payload, this.#abort.signal, task);
      this.#turn(() => this.#session.finish(solution, now()));
    } catch (error) {
      this.#turn(() => this.#session.fail(messageOf(error), now()));
      this.#options.onError?.(error);
    }
  }

  #turn(act: () => void): void {
    act();
    this.#timer.wakeAt(this.#session.nextDeadline());
    if (this.#session.isIdle) this.#whenIdle?.();
  }
}

function settingsOf({ nextPulseSeconds, pulseMs, retryMs, onRestart }: PulseWorkerOptions) {
  return {
    ...(onRestart === undefined ? {} : { onRestart }),
    ...(nextPulseSeconds === undefined ? {} : { nextPulseSeconds }),
    ...(pulseMs === undefined ? {} : { pulseMs }),
    ...(retryMs === undefined ? {} : { retryMs }),
  };
}
