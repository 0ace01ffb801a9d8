// The interface of a security mechanism: it takes and returns commands, and finally yields the
// peer's metadata. The greeting selects it by name, and it does no I/O. A mechanism that encrypts
// traffic also seals each frame, as CURVE does with its MESSAGE commands. NULL and PLAIN leave
// `seal` out and cost nothing after the handshake.

import type { Command } from "../commands.js";
import type { FaultKind } from "../faults.js";
import type { Metadata } from "../metadata.js";

export interface MechanismContext {
  /** Our encoded properties. The mechanism decides when to send them. */
  readonly metadata: Buffer;
  /** True for the end that bound. NULL has no other notion of client and server. */
  readonly isBound: boolean;
  /** The peer's address: tcp://host:port or ipc://path. */
  readonly address: string;
}

export type MechanismStep =
  | { readonly kind: "wait"; readonly send: readonly Buffer[] }
  | {
      readonly kind: "done";
      readonly send: readonly Buffer[];
      readonly metadata: Metadata;
      /** The value that `authenticate` returned for the peer. */
      readonly principal?: unknown;
    }
  | { readonly kind: "fault"; readonly fault: FaultKind; readonly send: readonly Buffer[] };

/** Encrypts and decrypts the frames of one connection. Results are in fields, as in Connection. */
export interface Seal {
  /** Bytes that sealing adds to a frame's body. */
  readonly overheadBytes: number;
  /** After open(): the frame's flags and its body, a slice of the sealed bytes. */
  readonly isMore: boolean;
  readonly isCommand: boolean;
  readonly body: Buffer;
  /** The number of the next frame to be sent. Frames are written in the order of their numbers. */
  take(): number;
  /**
   * Writes the sealed form of a frame to `target` at `at`: `overheadBytes` more than the body. The
   * body may already be at the end of that place. Flags are MORE and COMMAND.
   */
  close(number: number, flags: number, body: Uint8Array, target: Buffer, at: number): void;
  /** Decrypts in place. A fault if the bytes were tampered with or sent before. */
  open(sealed: Buffer): FaultKind | undefined;
  /** The connection is over: erases the keys. */
  wipe(): void;
}

export interface Mechanism {
  /**
   * Called when both greetings agree. Returns the bodies of the first commands to send; the caller
   * frames them.
   */
  start(): readonly Buffer[];
  /** Called with each command until it returns `done` or `fault`. */
  receive(command: Command): MechanismStep;
  readonly seal?: Seal;
  /** The handshake is over, or was broken off: erases what only the handshake needs. */
  wipe?(): void;
}

/** A socket's security settings. Creates the state of each connection. */
export interface Security {
  /** The name in the greeting: at most 20 characters of A-Z, 0-9, - and _. */
  readonly name: string;
  readonly isServer: boolean;
  /** Resolves when open() may be called; absent if it may be called at once. */
  load?(): Promise<unknown>;
  open(context: MechanismContext): Mechanism;
}
