// A udp calculator: give it the dispatcher's address and a function, and it works until stopped.

import { type RetransmissionSettings, udp } from "@yardmaster/dialects";
import { InterruptedError } from "../errors.js";
import { messageOf } from "../failure.js";
import { now, timerMs } from "../time.js";
import { dispatcherAt, UdpEndpoint } from "./endpoint.js";

/** Options of a udp calculator. */
export interface UdpCalculatorOptions extends Partial<udp.UdpCalculatorSettings> {
  /** udp://host:port */
  readonly dispatcher: string;
  readonly retransmission?: RetransmissionSettings;
  /**
   * Turns a task's params into its result, which is sent as JSON. An exception fails the attempt.
   * The signal fires when the calculator stops and the grace period is over.
   */
  readonly work: (params: udp.Params, signal: AbortSignal) => unknown;
  /** Called for every packet from the dispatcher. */
  readonly onHeard?: () => void;
}

/** A worker of the udp dialect. It runs one task at a time. */
export class UdpCalculator {
  readonly #endpoint: UdpEndpoint;
  readonly #session: udp.UdpCalculatorSession;
  readonly #abort: AbortController;

  private constructor(endpoint: UdpEndpoint, session: udp.UdpCalculatorSession, abort: AbortController) {
    this.#endpoint = endpoint;
    this.#session = session;
    this.#abort = abort;
  }

  static async open(options: UdpCalculatorOptions): Promise<UdpCalculator> {
    const { dispatcher, retransmission, work, onHeard, ...settings } = options;
    const address = await dispatcherAt(dispatcher);
    const abort = new AbortController();
    const endpoint = new UdpEndpoint(address, retransmission ?? udp.defaultRetransmission);
    const session: udp.UdpCalculatorSession = new udp.UdpCalculatorSession(
      address,
      { ...udp.defaultUdpCalculatorSettings, ...settings },
      {
        exchange: endpoint.exchange,
        work: (params) => {
          void answerOf(work, params, abort.signal).then((answer) =>
            endpoint.turn(() => session.finish(answer, now())),
          );
        },
      },
    );
    if (onHeard) endpoint.onHeard = onHeard;
    await endpoint.open(session);
    endpoint.turn(() => session.start(now()));
    return new UdpCalculator(endpoint, session, abort);
  }

  /**
   * Announces that it accepts no more tasks, lets a current one finish within the grace period,
   * then closes.
   */
  async stop({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#endpoint.turn(() => this.#session.leave(now()));
    if (graceMs > 0) await this.#idle(graceMs);
    this.#abort.abort(new InterruptedError("stopping"));
    await this.#endpoint.close();
  }

  #idle(msMax: number): Promise<void> {
    return new Promise((resolve) => {
      const late = setTimeout(resolve, timerMs(msMax));
      this.#endpoint.afterTurn = () => {
        if (this.#session.isBusy) return;
        clearTimeout(late);
        resolve();
      };
      this.#endpoint.afterTurn();
    });
  }
}

async function answerOf(
  work: UdpCalculatorOptions["work"],
  params: udp.Params,
  signal: AbortSignal,
): Promise<udp.CalculatorAnswer> {
  try {
    const result = await work(params, signal);
    return result === undefined ? {} : { result };
  } catch (error) {
    return { error: messageOf(error) };
  }
}
