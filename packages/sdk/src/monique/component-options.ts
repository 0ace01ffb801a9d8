// What a monique component is given, what it receives, and how it fails.

import type { ConnectSecurity } from "@yardmaster/zmtp";
import type { MoniqueTimes } from "./worker.js";

/** Where a monique scheduler listens. */
export interface MoniqueAddresses {
  /** tcp://host:port of each socket. */
  readonly in: string;
  readonly out: string;
  /** The technical channel, for monitoring and kill. */
  readonly techIn?: string;
  readonly techOut?: string;
}

/** Options of a monique component. */
export interface MoniqueComponentOptions {
  readonly scheduler: MoniqueAddresses;
  /** Its name in messages; must not contain colons. */
  readonly creator: string;
  /** The form in which it writes; it reads every form. Default "d3". */
  readonly form?: "d1" | "d3";
  /**
   * How long a new subscription has to reach the scheduler before a request that needs it is sent.
   */
  readonly settleMs?: number;
  /** Credentials, if the scheduler wants any. All its sockets use them. */
  readonly security?: ConnectSecurity;
  readonly onError?: (error: unknown) => void;
}

/** Options of one question. */
export interface AskOptions {
  /** Default "JSON". */
  readonly encoding?: string;
  /** After this time the question is no longer of interest and is answered with an error. */
  readonly expiresMs?: number;
  /** The message from which this one follows, for example the question that is being answered. */
  readonly pid?: string;
  /** Called when the question was sent, with the id by which it can be killed. */
  readonly onAsked?: (id: string) => void;
  readonly signal?: AbortSignal;
}

/** Options of one published message. */
export interface PublishOptions {
  /** Default "JSON". */
  readonly encoding?: string;
  /** After this time the message is no longer passed on. */
  readonly expiresMs?: number;
  /** The message from which this one follows. */
  readonly pid?: string;
}

/** A received message: an answer, or free data. */
export interface MoniqueData extends MoniqueTimes {
  readonly spec: string;
  readonly id: string;
  /** The question that it answers, or the message from which it follows; otherwise empty. */
  readonly pid: string;
  readonly creator: string;
  readonly encoding: string;
  readonly data: Buffer;
}

/**
 * An answer that is an error, from the worker or the scheduler. `code` is one of the document's
 * numbers.
 */
export class MoniqueError extends Error {
  readonly code: number;
  /** The message with the error; undefined if there was none. */
  readonly answer: MoniqueData | undefined;

  constructor(code: number, message: string, answer?: MoniqueData) {
    super(message);
    this.name = "MoniqueError";
    this.code = code;
    this.answer = answer;
  }
}

/** What a component reports about itself. */
export interface MonitoringOptions {
  readonly name: string;
  readonly everyMs?: number;
  /** Called before each report. By default the component is alive and has no message. */
  readonly status?: () => { readonly isAlive: boolean; readonly message: string };
}
