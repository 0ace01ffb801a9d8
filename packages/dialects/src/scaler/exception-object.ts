// A failure's text as an object that the program's clients can take: the pickle of `Exception(text)`. Of pickles this one shape is
// written and known again by its bytes; none is ever loaded.

const head = Buffer.concat([
  Buffer.from([0x80, 0x02, 0x63]),
  Buffer.from("builtins\nException\n"),
  Buffer.from([0x58]),
]);
const tail = Buffer.from([0x85, 0x52, 0x2e]);

/** [scaler 2.6] */
export function writeException(text: string): Buffer {
  const words = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(words.length);
  return Buffer.concat([head, length, words, tail]);
}

/** The text of such an object; undefined for any other. */
export function readException(bytes: Buffer): string | undefined {
  const start = head.length + 4;
  if (bytes.length < start + tail.length || !bytes.subarray(0, head.length).equals(head)) return undefined;
  const end = start + bytes.readUInt32LE(head.length);
  if (end + tail.length !== bytes.length || !bytes.subarray(end).equals(tail)) return undefined;
  return bytes.toString("utf8", start, end);
}
