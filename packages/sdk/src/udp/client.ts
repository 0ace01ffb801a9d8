// A udp client: many tasks over one socket, each with a promise.

import { type RetransmissionSettings, udp } from "@yardmaster/dialects";
import { now } from "../time.js";
import { dispatcherAt, UdpEndpoint } from "./endpoint.js";

/** Options of a udp client. */
export interface UdpClientOptions extends Partial<udp.UdpClientSettings> {
  /** udp://host:port */
  readonly dispatcher: string;
  readonly retransmission?: RetransmissionSettings;
}

/** Options of one udp task. */
export interface UdpSubmitOptions {
  /** The dispatcher acknowledged the task, so it is safe. */
  readonly onAccepted?: () => void;
}

/**
 * A task that ended without success: `error`, `failed_post`, `no_answer`, `too_large`,
 * `bad_task_id` or `closed`.
 */
export class UdpTaskError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A client of the udp dialect. */
export class UdpClient {
  readonly #endpoint: UdpEndpoint;
  readonly #session: udp.UdpClientSession;
  readonly #rejects = new Map<udp.TaskWaiter, (error: UdpTaskError) => void>();

  private constructor(endpoint: UdpEndpoint, session: udp.UdpClientSession) {
    this.#endpoint = endpoint;
    this.#session = session;
  }

  static async open({ dispatcher, retransmission, ...settings }: UdpClientOptions): Promise<UdpClient> {
    const address = await dispatcherAt(dispatcher);
    const endpoint = new UdpEndpoint(address, retransmission ?? udp.defaultRetransmission);
    const session = new udp.UdpClientSession(
      address,
      { ...udp.defaultUdpClientSettings, ...settings },
      endpoint.exchange,
    );
    await endpoint.open(session);
    return new UdpClient(endpoint, session);
  }

  /**
   * Resolves with the content of notify_task: `result`, or `truncated` and `size`. Rejects with a
   * `UdpTaskError`. A `task_id` in the params is used as the task's id; without one, a new id is
   * made.
   */
  submit(params: udp.Params = {}, { onAccepted = () => {} }: UdpSubmitOptions = {}): Promise<udp.Params> {
    return new Promise((resolve, reject) => {
      const fail = (code: string, message: string) => {
        this.#rejects.delete(waiter);
        reject(new UdpTaskError(code, message));
      };
      const waiter: udp.TaskWaiter = {
        accepted: onAccepted,
        unanswered: () => fail("no_answer", "The dispatcher did not acknowledge the task."),
        ended: (status, its) => {
          if (status !== "success") return fail(status, endingIn(status, its));
          this.#rejects.delete(waiter);
          resolve(its);
        },
      };
      this.#rejects.set(waiter, reject);
      this.#endpoint.turn(() => {
        try {
          const taskId = this.#session.submit(params, waiter, now());
          if (taskId === undefined) fail("too_large", "The task does not fit in a datagram.");
        } catch (error) {
          fail("bad_task_id", (error as Error).message);
        }
      });
    });
  }

  async close(): Promise<void> {
    this.#session.takeAll();
    for (const reject of this.#rejects.values()) {
      reject(new UdpTaskError("closed", "The client was closed before the answer came."));
    }
    this.#rejects.clear();
    await this.#endpoint.close();
  }
}

/** Includes the reason, if the dispatcher gives one. */
function endingIn(status: string, { error }: udp.Params): string {
  const said = `The task ended with ${status}.`;
  return typeof error === "string" ? `${said} ${error}` : said;
}
