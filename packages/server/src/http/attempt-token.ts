// What an http worker shows to speak of an attempt: its own name, the lease it asked for, and a seal over both, the
// task and the attempt. The door keeps no list of tokens; whoever was not given one cannot make it.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { TaskId } from "@yardmaster/core";

/** The holder of an attempt, as its token says. */
export interface Holder {
  readonly name: string;
  /** For how long a beat renews its lease unless it says otherwise. */
  readonly leaseMs: number;
}

export class AttemptTokens {
  #secret: Uint8Array;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** With the secret of an earlier life: what was given out then is still ours. */
  use(secret: Uint8Array): void {
    this.#secret = secret;
  }

  make(task: TaskId, attempt: number, { name, leaseMs }: Holder): string {
    const claim = `${Buffer.from(name).toString("base64url")}.${leaseMs}`;
    return `${claim}.${this.#seal(task, attempt, claim).toString("base64url")}`;
  }

  /** Nothing when the token is not of this attempt, or not ours. */
  holderOf(token: string, task: TaskId, attempt: number): Holder | undefined {
    const [, claim, name, leaseMs, seal] = /^(([\w-]+)\.(\d+))\.([\w-]+)$/.exec(token) ?? [];
    if (claim === undefined || name === undefined || seal === undefined) return undefined;
    const expected = this.#seal(task, attempt, claim);
    const given = Buffer.from(seal, "base64url");
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    return { name: Buffer.from(name, "base64url").toString(), leaseMs: Number(leaseMs) };
  }

  #seal(task: TaskId, attempt: number, claim: string): Buffer {
    return createHmac("sha256", this.#secret).update(`${task}.${attempt}.${claim}`).digest();
  }
}
