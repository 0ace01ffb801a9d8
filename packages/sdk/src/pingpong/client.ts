// A pingpong client: many jobs over one connection, each with a promise.

import { randomBytes } from "node:crypto";
import { pingpong } from "@yardmaster/dialects";
import { type ConnectSecurity, Dealer } from "@yardmaster/zmtp";

/** Options of a pingpong client. */
export interface PingpongClientOptions {
  /** The broker's address for clients, tcp://host:port. */
  readonly broker: string;
  readonly identity?: string;
  /** Credentials, if the broker wants any. */
  readonly security?: ConnectSecurity;
}

/** The broker's error for a job that ended without a result. */
export class PingpongError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Waiter {
  readonly resolve: (parts: readonly Buffer[]) => void;
  readonly reject: (error: Error) => void;
}

/** A client of a pingpong broker. */
export class PingpongClient {
  readonly #session = new pingpong.PingpongClientSession<Waiter>(`${randomBytes(6).toString("base64url")}.`);
  readonly #dealer: Dealer;
  /** Jobs that wait for the first connection, or for room. */
  readonly #unsent: Buffer[][] = [];

  constructor({ broker, identity, security }: PingpongClientOptions) {
    this.#dealer = new Dealer({
      ...(identity === undefined ? {} : { identity }),
      ...(security && { security, onConnectFailed: (_broker, error) => this.#refused(error) }),
      onPeer: () => this.#flush(),
      onRoom: () => this.#flush(),
      onPeerGone: () => this.#lost(),
      onMessage: (_peer, frames) => this.#receive(frames),
    });
    this.#dealer.connect(broker);
  }

  /**
   * Resolves with the parts of the result. Rejects with a `PingpongError`: the broker's code, or
   * `disconnected`.
   */
  submit(...parts: readonly Uint8Array[]): Promise<readonly Buffer[]> {
    return new Promise((resolve, reject) => {
      const request = this.#session.ask(parts.map(bufferOf), { resolve, reject });
      this.#unsent.push(pingpong.writeFromClient(request));
      this.#flush();
    });
  }

  async close(): Promise<void> {
    this.#unsent.length = 0;
    this.#rejectAll("closed", "The client was closed before the answer came.");
    await this.#dealer.close();
  }

  #flush(): void {
    for (let frames = this.#unsent[0]; frames !== undefined; frames = this.#unsent[0]) {
      const sent = this.#dealer.send(frames);
      if (sent === "full" || sent === "gone") return;
      this.#unsent.shift();
    }
  }

  #receive(frames: Buffer[]): void {
    const reading = pingpong.readFromBrokerToClient(frames);
    if (!reading.ok) return;
    const waiter = this.#session.take(reading.message);
    if (reading.message.type === "result") waiter?.resolve(reading.message.parts);
    else waiter?.reject(new PingpongError(reading.message.code, reading.message.message));
  }

  /**
   * Answers are sent to one connection. When it closes they are lost, and it is not known whether
   * the jobs are done.
   */
  #lost(): void {
    this.#unsent.length = 0;
    this.#rejectAll("disconnected", "The connection to the broker was lost before the answer came.");
  }

  /**
   * A connection that ends in the handshake was most likely refused. Jobs would wait for ever. An
   * error with a code is the system's: no broker was reached.
   */
  #refused(error: Error): void {
    if ("code" in error) return;
    this.#unsent.length = 0;
    this.#rejectAll(
      "not_connected",
      `The broker ended the connection. Are the credentials right? (${error.message})`,
    );
  }

  #rejectAll(code: string, message: string): void {
    for (const { reject } of this.#session.takeAll()) reject(new PingpongError(code, message));
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
