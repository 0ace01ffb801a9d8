// The only pickle this program writes: an exception with a text, which a Python client unpickles
// when a task has failed. This program never loads a pickle, because loading one runs code. It
// recognises its own pickles by their bytes.

const head = Buffer.from([0x80, 0x02, 0x63]);
const exceptionClass = Buffer.from("builtins\nException\n");
const text = 0x58;
/** Opcodes: a tuple of one element, a call, stop. */
const tail = Buffer.from([0x85, 0x52, 0x2e]);

/** [scaler 2.6] `Exception(message)` in protocol 2. */
export function pickledException(message: string): Buffer {
  const bytes = Buffer.from(message);
  const size = Buffer.alloc(5);
  size[0] = text;
  size.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([head, exceptionClass, size, bytes, tail]);
}

/** The text of such an exception; undefined for any other bytes. */
export function exceptionText(object: Buffer): string | undefined {
  const start = head.length + exceptionClass.length + 5;
  const end = object.length - tail.length;
  if (end < start || object.readUInt32LE(start - 4) !== end - start) return undefined;
  const message = object.toString("utf8", start, end);
  return pickledException(message).equals(object) ? message : undefined;
}
