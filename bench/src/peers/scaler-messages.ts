// The messages of the raw peers in the scaler benchmark, as bytes on the wire. Ids have a fixed
// length, so each message is a copy of the first with other ids.

import { onWire } from "./raw-peer.js";

export const source = Buffer.from("1|Client|00112233445566778899aabbccddeeff");
const none = Buffer.alloc(0);
const letter = (text: string) => Buffer.from(text);
const counts = (...numbers: number[]) => Buffer.from(Uint32Array.from(numbers).buffer);
const functionId = Buffer.alloc(24, "function");
const argumentId = Buffer.alloc(24, "argument");
const resultId = Buffer.alloc(24, "result");

export const taskIdBytes = 16;
/** After the type's frame and the head of its own frame. */
export const taskIdAt = 6;

export const heartbeat = onWire([letter("HB"), Buffer.alloc(33)]);
export const clientHeartbeat = onWire([letter("CB"), Buffer.alloc(20)]);
export const task = onWire([
  ...[letter("TK"), Buffer.alloc(taskIdBytes), source, Buffer.alloc(5)],
  ...[functionId, letter("R"), argumentId],
]);
export const result = onWire([letter("TR"), Buffer.alloc(taskIdBytes), letter("S"), none, resultId]);
/** The same with one existing result that all tasks share. */
export const sharedResult = onWire([
  ...[letter("TR"), Buffer.alloc(taskIdBytes), letter("S"), none, argumentId],
]);
/** Offset in a result at which the task's id is written: its last bytes. */
export const resultTaskAt = result.length - taskIdBytes;
export const resultObject = onWire([
  ...[letter("OI"), letter("C"), source, counts(1, 1, 1)],
  ...[resultId, letter("<res>"), letter("a result")],
]);
export const objectTaskAt = resultObject.indexOf(resultId) + resultId.length - taskIdBytes;

/** The function, the argument, and `count` other objects that are only stored. */
export function objects(count: number): Buffer[] {
  const named = (id: Buffer) =>
    onWire([letter("OI"), letter("C"), source, counts(1, 1, 1), id, letter("n"), id]);
  const messages = [named(functionId), named(argumentId)];
  for (let index = 0; index < count; index += 200) {
    const ids = Array.from({ length: 200 }, (_, each) => {
      const id = Buffer.alloc(24, "lies");
      id.writeUInt32BE(index + each, 20);
      return id;
    });
    const names = ids.map(() => letter("n"));
    messages.push(
      onWire([letter("OI"), letter("C"), source, counts(200, 200, 200), ...ids, ...names, ...names]),
    );
  }
  return messages;
}

/** Answered when everything sent before it was processed. */
export const argumentRequest = onWire([letter("OR"), letter("A"), argumentId]);

/** Deletes results, given the concatenated ids of their tasks. */
export function resultsDeleted(tasks: Buffer): Buffer {
  const count = tasks.length / taskIdBytes;
  const ids = Array.from({ length: count }, (_, index) => {
    const id = Buffer.from(resultId);
    tasks.copy(id, id.length - taskIdBytes, index * taskIdBytes, (index + 1) * taskIdBytes);
    return id;
  });
  return onWire([letter("OI"), letter("D"), source, counts(count, 0, 0), ...ids]);
}

/** Calls back with the offset of each message, and keeps an incomplete one. */
export function messageReader(take: (bytes: Buffer, at: number) => void): (read: Buffer) => void {
  let rest: Buffer | undefined;
  return (read) => {
    const bytes = rest === undefined ? read : Buffer.concat([rest, read]);
    let at = 0;
    for (let end = endOf(bytes, at); end > 0; end = endOf(bytes, at)) {
      take(bytes, at);
      at = end;
    }
    rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : undefined;
  };
}

/** The end of the message that begins here; 0 if it is incomplete. All its frames are short. */
function endOf(bytes: Buffer, at: number): number {
  for (let head = at; head + 1 < bytes.length; ) {
    const end = head + 2 + (bytes[head + 1] as number);
    if (end > bytes.length) return 0;
    if (bytes[head] === 0) return end;
    head = end;
  }
  return 0;
}
