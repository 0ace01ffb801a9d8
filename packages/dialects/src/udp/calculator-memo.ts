// [udp 3.11] What the door restores after a restart: the addresses and forms of its calculators.

import { addressIn } from "./codec.js";
import type { UdpAddress } from "./exchange.js";
import type { UdpForm } from "./messages.js";

export interface RememberedCalculator {
  readonly address: UdpAddress;
  readonly form: UdpForm;
}

const prefix = "calculator/";

export function calculatorMemo({ name }: UdpAddress): string {
  return prefix + name;
}

export function writeCalculator(form: UdpForm): Buffer {
  return Buffer.from(form);
}

/** Decodes a memo; undefined for an invalid one. */
export function readCalculator(memo: string, bytes: Uint8Array): RememberedCalculator | undefined {
  if (!memo.startsWith(prefix)) return undefined;
  const name = memo.slice(prefix.length);
  const address = addressIn(name);
  const form = Buffer.from(bytes).toString();
  if (address === undefined || (form !== "document" && form !== "program")) return undefined;
  return { address: { ...address, name }, form };
}
