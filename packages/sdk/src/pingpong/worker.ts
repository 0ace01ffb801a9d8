// A pingpong worker: give it a broker's address and a function, and it works until it is stopped.

import { pingpong } from "@yardmaster/dialects";
import { Dealer } from "@yardmaster/zmtp";
import { InterruptedError } from "../errors.js";
import { now, SessionTimer } from "../time.js";

export interface PingpongWorkerOptions extends Partial<pingpong.PingpongWorkerSettings> {
  /** The broker's address for workers, tcp://host:port. */
  readonly broker: string;
  /** Under which the broker knows it; made up by the broker if absent. */
  readonly identity?: string;
  /** The parts of a job to the parts of its result. The signal fires when nobody waits for it any more. */
  readonly work: (
    parts: readonly Buffer[],
    signal: AbortSignal,
  ) => Promise<readonly Buffer[]> | readonly Buffer[];
  /** How the broker writes jobs; "document" if absent. */
  readonly form?: pingpong.PingpongForm;
  /** Called with true when a broker is there, and with false when the connection is lost. */
  readonly onContact?: (isThere: boolean) => void;
  /** The dialect has no word for failure: what `work` throws comes here, and the job goes back by a closed connection. */
  readonly onError?: (error: unknown) => void;
}

export class PingpongWorker {
  readonly #options: PingpongWorkerOptions;
  readonly #session: pingpong.PingpongWorkerSession;
  readonly #timer = new SessionTimer(() => this.#handleTimeout());
  #abort = new AbortController();
  #dealer: Dealer;
  #job: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: PingpongWorkerOptions) {
    this.#options = options;
    this.#session = new pingpong.PingpongWorkerSession(
      { ...pingpong.defaultPingpongWorkerSettings, ...settingsOf(options) },
      {
        send: (message) => {
          this.#dealer.send(pingpong.writeFromWorker(message));
        },
        work: (parts) => {
          // One that comes while it is leaving goes back with the connection.
          if (!this.#isStopped) this.#job = this.#work(parts);
        },
        reconnect: () => this.#reconnect(),
      },
    );
    this.#dealer = this.#connect();
  }

  /** Lets the job in hand finish, says goodbye by closing, and is gone. After the time of grace the job's signal fires. */
  async stop({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#isStopped = true;
    const late = setTimeout(() => this.#abort.abort(new InterruptedError("stopping")), graceMs);
    await this.#job;
    clearTimeout(late);
    this.#timer.stop();
    await this.#dealer.close();
  }

  #connect(): Dealer {
    const { broker, identity } = this.#options;
    const dealer = new Dealer({
      ...(identity === undefined ? {} : { identity }),
      onPeer: () => {
        if (dealer !== this.#dealer) return;
        this.#turn(() => this.#session.connected(now()));
        this.#options.onContact?.(true);
      },
      onPeerGone: () => {
        if (dealer !== this.#dealer) return;
        this.#turn(() => this.#session.disconnected());
        this.#options.onContact?.(false);
        // The broker has given the job to another by now.
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
