// A udp calculator: give it a dispatcher's address and a function, and it works until it is stopped.

import { type RetransmissionSettings, udp } from "@yardmaster/dialects";
import { now } from "../time.js";
import { dispatcherAt, UdpEndpoint } from "./endpoint.js";

export interface UdpCalculatorOptions extends Partial<udp.UdpCalculatorSettings> {
  /** udp://host:port */
  readonly dispatcher: string;
  readonly retransmission?: RetransmissionSettings;
  /** A task's params to its result, which is written as JSON; what it throws fails the attempt. */
  readonly work: (params: udp.Params) => unknown;
}

export class UdpCalculator {
  readonly #endpoint: UdpEndpoint;
  readonly #session: udp.UdpCalculatorSession;

  private constructor(endpoint: UdpEndpoint, session: udp.UdpCalculatorSession) {
    this.#endpoint = endpoint;
    this.#session = session;
  }

  static async open(options: UdpCalculatorOptions): Promise<UdpCalculator> {
    const { dispatcher, retransmission, work, ...settings } = options;
    const address = await dispatcherAt(dispatcher);
    const endpoint = new UdpEndpoint(address, retransmission ?? udp.defaultRetransmission);
    const session: udp.UdpCalculatorSession = new udp.UdpCalculatorSession(
      address,
      { ...udp.defaultUdpCalculatorSettings, ...settings },
      {
        exchange: endpoint.exchange,
        work: (params) => {
          void answerOf(work, params).then((answer) => endpoint.turn(() => session.finish(answer, now())));
        },
      },
    );
    await endpoint.open(session);
    endpoint.turn(() => session.start(now()));
    return new UdpCalculator(endpoint, session);
  }

  /** Says that it takes nothing more, and is gone; a task in hand is lost to another. */
  async stop(): Promise<void> {
    this.#endpoint.turn(() => this.#session.leave(now()));
    await this.#endpoint.close();
  }
}

async function answerOf(
  work: UdpCalculatorOptions["work"],
  params: udp.Params,
): Promise<udp.CalculatorAnswer> {
  try {
    const result = await work(params);
    return result === undefined ? {} : { result };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
