// A pingpong worker: give it a broker's address and a function, and it works until it is stopped.

import { pingpong } from "@yardmaster/dialects";
import { type ConnectSecurity, Dealer } from "@yardmaster/zmtp";
import { InterruptedError } from "../errors.js";
import { now, SessionTimer, timerMs } from "../time.js";

/** Options of a pingpong worker. */
export interface PingpongWorkerOptions extends Partial<pingpong.PingpongWorkerSettings> {
  /** The broker's address for workers, tcp://host:port. */
  readonly broker: string;
  /** The name by which the broker knows it. If absent, the broker makes one up. */
  readonly identity?: string;
  /** Credentials, if the broker wants any. */
  readonly security?: ConnectSecurity;
  /**
   * Turns the parts of a job into the parts of its result. The signal fires when the result is no
   * longer wanted.
   */
  readonly work: (
    parts: readonly Buffer[],
    signal: AbortSignal,
  ) => Promise<readonly Buffer[]> | readonly Buffer[];
  /** The form in which the broker writes jobs. Default "document". */
  readonly form?: pingpong.PingpongForm;
  /** Called with true when a broker is there, and with false when the connection is lost. */
  readonly onContact?: (isThere: boolean) => void;
  /**
   * The dialect cannot report a failure. What `work` throws is passed here, and the connection is
   * closed, which returns the job.
   */
  readonly onError?: (error: unknown) => void;
}

/** A worker of a pingpong broker. It runs one task at a time. */
export class PingpongWorker {
  readonly #options: PingpongWorkerOptions;
  readonly #session: pingpong.PingpongWorkerSession;
  readonly #timer = new SessionTimer(() => this.#handleTimeout());
  #abort = new AbortController();
  #dealer: Dealer;
  #job: Promise<void> = Promise.resolve();
  #isStopped = false;
  /** True when `stop` closes the connection. */
  #isClosed = false;

  constructor(options: PingpongWorkerOptions) {
    this.#options = options;
    this.#session = new pingpong.PingpongWorkerSession(
      { ...pingpong.defaultPingpongWorkerSettings, ...settingsOf(options) },
      {
        send: (message) => {
          this.#dealer.send(pingpong.writeFromWorker(message));
        },
        work: (parts) => {
          // A job that arrives while the worker leaves is returned when the connection closes.
          if (!this.#isStopped) this.#job = this.#work(parts);
        },
        reconnect: () => this.#reconnect(),
      },
    );
    this.#dealer = this.#connect();
  }

  /**
   * Lets the current job finish, then closes the connection. After the grace period the job's
   * signal fires.
   */
  async stop({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#isStopped = true;
    const late = setTimeout(() => this.#abort.abort(new InterruptedError("stopping")), timerMs(graceMs));
    await this.#job;
    clearTimeout(late);
    this.#timer.stop();
    this.#isClosed = true;
    await this.#dealer.close();
  }

  #connect(): Dealer {
    const { broker, identity, security, onError } = this.#options;
    const dealer = new Dealer({
      ...(identity === undefined ? {} : { identity }),
      ...(security && { security, onConnectFailed: (_broker, error) => onError?.(error) }),
      onPeer: () => {
        if (dealer !== this.#dealer) return;
        this.#turn(() => this.#session.connected(now()));
        this.#options.onContact?.(true);
      },
      onPeerGone: () => {
        // We closed it, so the broker is not gone.
        if (dealer !== this.#dealer || this.#isClosed) return;
        this.#turn(() => this.#session.disconnected());
        this.#options.onContact?.(false);
        // The broker has given the job to another worker by now.
        this.#abort.abort(new InterruptedError("lost"));
      },
      onMessage: (_peer, frames) => {
        if (dealer === this.#dealer) this.#receive(frames);
      },
    });
    dealer.connect(broker);
    return dealer;
  }

  #receive(frames: Buffer[]): void {
    const reading = pingpong.readFromBroker(frames, this.#options.form);
    if (reading.ok) this.#turn(() => this.#session.receive(reading.message, now()));
  }

  async #work(parts: readonly Buffer[]): Promise<void> {
    this.#abort = new AbortController();
    try {
      const result = await this.#options.work(parts, this.#abort.signal);
      this.#turn(() => this.#session.finish(result, now()));
    } catch (error) {
      this.#turn(() => this.#session.abandon(now()));
      this.#options.onError?.(error);
    }
  }

  #handleTimeout(): void {
    this.#turn(() => this.#session.handleTimeout(now()));
  }

  #turn(work: () => void): void {
    work();
    if (!this.#isStopped) this.#timer.wakeAt(this.#session.nextDeadline());
  }

  #reconnect(): void {
    if (this.#isStopped) return;
    const old = this.#dealer;
    this.#dealer = this.#connect();
    void old.close({ lingerMs: 0 });
  }
}

function settingsOf({ pingMs, brokerTimeoutMs, timeouts }: PingpongWorkerOptions) {
  return {
    ...(pingMs === undefined ? {} : { pingMs }),
    ...(brokerTimeoutMs === undefined ? {} : { brokerTimeoutMs }),
    ...(timeouts === undefined ? {} : { timeouts }),
  };
}
