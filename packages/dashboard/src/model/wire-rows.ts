// Which messages are beats, on which side of the ladder a peer stands, and the bytes of a message
// by field.

import type { WireField, WireMessage } from "../live/api-shapes.js";

/** Messages that only say "I am here", in the words of the dialects. */
const beats = /^(HB|HE|PING|PONG|PULSE|NEXT_PULSE|heartbeat\w*|status\w*|:beat|POST :beat|ping|pong|pulse)$/i;

export function isBeat({ type }: Pick<WireMessage, "type">): boolean {
  return beats.test(type) || /:beat\b/.test(type);
}

/**
 * Where the peer's end of the arrow is: clients left, workers right. For an unknown peer the
 * direction of the message decides.
 */
export function sideOf({ side, direction }: Pick<WireMessage, "side" | "direction">): "left" | "right" {
  if (side === "worker") return "right";
  if (side === "client") return "left";
  return direction === "in" ? "left" : "right";
}

/**
 * The type of a message, with what sets an answer apart from what it answers: the status of http,
 * and the acknowledgement of udp, which is the same packet with another `packet_type`.
 */
export function messageName({ door, direction, type, content, fields }: NamedMessage): string {
  if (door === "udp" && fields?.some(({ name, value }) => name === "packet_type" && value === "2"))
    return `${type} ack`;
  if (door !== "http" || direction !== "out" || content === null || typeof content !== "object") return type;
  const { status } = content as { status?: unknown };
  return typeof status === "number" ? `${status} ${type}` : type;
}

type NamedMessage = Pick<WireMessage, "door" | "direction" | "type" | "content" | "fields">;

export function decodeBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

export interface FieldBytes {
  readonly field: WireField;
  readonly hex: string;
  readonly text: string;
}

/** A field's bytes, at most 48 of them. */
export function fieldBytes(fields: readonly WireField[], data: Uint8Array): FieldBytes[] {
  return fields.map((field) => {
    const part = [...data.subarray(field.at, field.at + Math.min(48, field.bytes))];
    const rest = field.bytes > part.length ? " …" : "";
    return {
      field,
      hex: part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ") + rest,
      text: part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join(""),
    };
  });
}

/** Messages a second by door and type, from two counts of the dispatcher. */
export interface TrafficRate {
  readonly door: string;
  readonly type: string;
  readonly perSecond: number;
}

interface CountedTraffic {
  readonly at: string;
  readonly items: readonly { readonly door: string; readonly type: string; readonly messages: number }[];
}

export function trafficRates(
  before: CountedTraffic | undefined,
  now: CountedTraffic | undefined,
): TrafficRate[] {
  if (!before || !now) return [];
  const seconds = Math.max(0.1, (Date.parse(now.at) - Date.parse(before.at)) / 1000);
  const sums = new Map<string, { door: string; type: string; messages: number }>();
  const add = (items: CountedTraffic["items"], sign: number) => {
    for (const { door, type, messages } of items) {
      const key = JSON.stringify([door, type]);
      const sum = sums.get(key) ?? { door, type, messages: 0 };
      sum.messages += sign * messages;
      sums.set(key, sum);
    }
  };
  add(now.items, 1);
  add(before.items, -1);
  return [...sums.values()]
    .map(({ door, type, messages }) => ({ door, type, perSecond: Math.max(0, messages) / seconds }))
    .sort((a, b) => b.perSecond - a.perSecond);
}
