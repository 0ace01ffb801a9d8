// Encodes and decodes the first 64 bytes of a connection [23/ZMTP, 37/ZMTP: version negotiation]. A
// greeting is judged as early as its bytes allow, so a peer that does not speak ZMTP is rejected at
// its first byte.

import type { FaultKind } from "./faults.js";

export const greetingBytes = 64;
const signatureEnd = 9;
const majorAt = 10;
const minorAt = 11;
export const mechanismAt = 12;
const mechanismBytes = 20;
const asServerAt = 32;

export interface Greeting {
  /** The highest minor version that both ends speak: 0 or 1. */
  readonly minor: 0 | 1;
  readonly mechanism: string;
  readonly isServer: boolean;
}

export type GreetingReading =
  | { readonly kind: "need-more" }
  | { readonly kind: "greeting"; readonly greeting: Greeting }
  | { readonly kind: "fault"; readonly fault: FaultKind };

export function encodeGreeting(greeting: Greeting): Buffer {
  const bytes = Buffer.alloc(greetingBytes);
  bytes[0] = 0xff;
  // libzmq writes 1 in the padding, so that ZMTP 1 peers see an empty identity. Other peers ignore
  // it.
  bytes[8] = 1;
  bytes[signatureEnd] = 0x7f;
  bytes[majorAt] = 3;
  bytes[minorAt] = greeting.minor;
  bytes.write(greeting.mechanism, mechanismAt, mechanismBytes, "latin1");
  bytes[asServerAt] = greeting.isServer ? 1 : 0;
  return bytes;
}

/** Reads the greeting at the start of `bytes`, which may be shorter or longer than a greeting. */
export function readGreeting(bytes: Buffer): GreetingReading {
  if (bytes.length > 0 && bytes[0] !== 0xff) return { kind: "fault", fault: "not_zmtp" };
  if (bytes.length > signatureEnd && bytes[signatureEnd] !== 0x7f) {
    // ZMTP 1 has the length of its identity and an even flag byte here.
    return { kind: "fault", fault: bytes[signatureEnd] === 0 ? "old_version" : "not_zmtp" };
  }
  // Higher versions must be accepted, because such peers fall back to ours.
  const major = bytes[majorAt];
  if (major !== undefined && major < 3) return { kind: "fault", fault: "old_version" };
  if (bytes.length < greetingBytes) return { kind: "need-more" };
  const mechanism = bytes.toString("latin1", mechanismAt, mechanismAt + mechanismBytes).replace(/\0+$/, "");
  const minor = major === 3 && bytes[minorAt] === 0 ? 0 : 1;
  return { kind: "greeting", greeting: { minor, mechanism, isServer: bytes[asServerAt] === 1 } };
}
