// For tests: readings of the codec as plain values, read from a list of frames and, where it can
// be, from packed bytes that are overwritten afterwards.

import { packFrames, WireFrames } from "../../wire-frames.js";
import { readFromPeer } from "../codec.js";
import type { PeerMessage, Reading, ScalerWire, ToClient, ToWorker } from "../messages.js";

type Message = PeerMessage | ToClient | ToWorker;

/** The fields of a message whose getters read them from bytes. */
export function plainMessage<Given extends Message>(message: Given): Given {
  return plain(message) as Given;
}

function plain(message: Message): Message {
  switch (message.type) {
    case "task": {
      const { type, task, source, metadata, function: called, arguments: given } = message;
      return { type, task, source, metadata, function: called, arguments: given };
    }
    case "task-result": {
      const { type, task, status, metadata, results } = message;
      return { type, task, status, metadata, results };
    }
    case "object-create": {
      const { type, source, ids, names, bytes, hasSplitCounts } = message;
      return { type, source, ids, names, bytes, hasSplitCounts };
    }
    case "graph":
      return { ...message, nodes: message.nodes.map(plainMessage) };
    default:
      return message;
  }
}

export function plainReading<Given extends Message>(reading: Reading<Given>): Reading<Given> {
  return reading.ok ? { ok: true, message: plainMessage(reading.message) } : reading;
}

/**
 * Reads a peer's message from a list and, if its frames are short, from packed bytes. Both readings
 * must be equal.
 */
export function readBoth(frames: readonly Buffer[], wire: ScalerWire): Reading<PeerMessage>[] {
  const listed = plainReading(readFromPeer(WireFrames.of(frames), wire));
  const packed = packFrames(frames);
  if (packed === undefined) return [listed];
  const reading = readFromPeer(new WireFrames().readPacked(packed, 0, packed.length), wire);
  // A creation only refers to the lent bytes; anything else must not.
  const isLent = reading.ok && reading.message.type === "object-create";
  const early = isLent ? plainCopy(reading) : undefined;
  packed.fill(0xee);
  return [listed, early ?? plainReading(reading)];
}

function plainCopy(reading: Reading<PeerMessage>): Reading<PeerMessage> {
  if (!reading.ok || reading.message.type !== "object-create") return reading;
  const { type, source, ids, names, bytes, hasSplitCounts } = reading.message;
  const [own, ...rest] = [[source], ids, names, bytes].map((list) => list.map((each) => Buffer.from(each)));
  const [ownIds = [], ownNames = [], ownBytes = []] = rest;
  const message = { type, source: own?.[0] as Buffer, ids: ownIds, names: ownNames, bytes: ownBytes };
  return { ok: true, message: { ...message, hasSplitCounts } };
}
