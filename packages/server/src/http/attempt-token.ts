// The token with which an http worker reports on an attempt: the worker's name, its lease, and a
// seal over both, the task and the attempt. The door keeps no list of tokens, and a worker cannot
// forge one.

import { hash, timingSafeEqual } from "node:crypto";
import type { TaskId } from "@yardmaster/core";

/** The holder of an attempt, as its token says. */
export interface Holder {
  readonly name: string;
  /** How long a heartbeat renews the lease, unless the heartbeat says otherwise. */
  readonly leaseMs: number;
  /** True for a worker with a stream: its token is valid for all attempts of this worker. */
  readonly isStream?: boolean;
  /** The queues of a worker with a stream: after a restart it may report before it reopens it. */
  readonly queues?: readonly string[];
}

/**
 * Maximum length of the queues in a token, which is a header. A worker with more queues has to
 * reopen its stream after a restart before it can report.
 */
const queuesLengthMax = 4_096;
/** Block size of SHA-256. */
const blockBytes = 64;
/**
 * Number of verified tokens of stream workers that are cached: all their requests carry the same
 * token.
 */
const verifiedMax = 1_024;

export class AttemptTokens {
  /** The key of HMAC-SHA256 (RFC 2104), padded for the inner and the outer hash. */
  #inner: Buffer = Buffer.alloc(0);
  #outer: Buffer = Buffer.alloc(0);
  readonly #verified = new Map<string, Holder>();

  constructor(secret: Uint8Array) {
    this.use(secret);
  }

  /** Uses the stored secret of an earlier process, so that its tokens stay valid. */
  use(secret: Uint8Array): void {
    const key = secret.length > blockBytes ? hash("sha256", secret, "buffer") : secret;
    const padded = Buffer.alloc(blockBytes);
    padded.set(key);
    this.#inner = padded.map((byte) => byte ^ 0x36) as Buffer;
    this.#outer = padded.map((byte) => byte ^ 0x5c) as Buffer;
    this.#verified.clear();
  }

  /** The token of a worker with a stream, instead of one token per attempt. */
  makeForWorker({ name, leaseMs, queues = [] }: Holder): string {
    const list = queues.join(",");
    const shown = list.length > queuesLengthMax ? "" : list;
    const claim = `w.${inText(name)}.${leaseMs}.${inText(shown)}`;
    return `${claim}.${this.#sealOf(claim).toString("base64url")}`;
  }

  make(task: TaskId, attempt: number, { name, leaseMs }: Holder): string {
    const claim = `${inText(name)}.${leaseMs}`;
    return `${claim}.${this.#seal(task, attempt, claim).toString("base64url")}`;
  }

  /** Undefined if the token belongs to another attempt or was not made by this door. */
  holderOf(token: string, task: TaskId, attempt: number): Holder | undefined {
    if (token.startsWith("w.")) return this.workerOf(token);
    const [, claim, name, leaseMs, seal] = /^(([\w-]+)\.(\d+))\.([\w-]+)$/.exec(token) ?? [];
    if (claim === undefined || name === undefined || seal === undefined) return undefined;
    if (!isSame(seal, this.#seal(task, attempt, claim))) return undefined;
    return { name: fromText(name), leaseMs: Number(leaseMs) };
  }

  /** The stream worker to which the token belongs; undefined if this door did not make it. */
  workerOf(token: string): Holder | undefined {
    const known = this.#verified.get(token);
    if (known !== undefined) return known;
    // A token of an earlier version has no queues.
    const [, claim, name, leaseMs, queues = "", seal] =
      /^(w\.([\w-]+)\.(\d+)(?:\.([\w-]*))?)\.([\w-]+)$/.exec(token) ?? [];
    if (claim === undefined || name === undefined || seal === undefined) return undefined;
    if (!isSame(seal, this.#sealOf(claim))) return undefined;
    const holder = {
      name: fromText(name),
      leaseMs: Number(leaseMs),
      isStream: true,
      queues: fromText(queues)
        .split(",")
        .filter((queue) => queue !== ""),
    };
    if (this.#verified.size >= verifiedMax) this.#verified.clear();
    this.#verified.set(token, holder);
    return holder;
  }

  #seal(task: TaskId, attempt: number, claim: string): Buffer {
    return this.#sealOf(`${task}.${attempt}.${claim}`);
  }

  /**
   * The sealed text begins with a letter for a worker and with a digit for an attempt, so neither
   * passes for the other.
   */
  #sealOf(text: string): Buffer {
    // Two plain hash calls: a Hmac object costs three times as much, and every claim and every
    // report needs one.
    const inside = hash("sha256", Buffer.concat([this.#inner, Buffer.from(text)]), "buffer");
    return hash("sha256", Buffer.concat([this.#outer, inside]), "buffer");
  }
}

function inText(name: string): string {
  return Buffer.from(name).toString("base64url");
}

function fromText(text: string): string {
  return Buffer.from(text, "base64url").toString();
}

function isSame(seal: string, expected: Buffer): boolean {
  const given = Buffer.from(seal, "base64url");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
