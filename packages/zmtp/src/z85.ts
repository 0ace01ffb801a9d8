// Z85: binary data as text, five characters for four bytes [32/Z85]. CURVE keys are written so.

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
const values = new Map([...alphabet].map((character, value) => [character, value]));
const base = 85;

/** Throws if the number of bytes is not a multiple of 4. */
export function encodeZ85(bytes: Uint8Array): string {
  if (bytes.length % 4 !== 0) throw new RangeError(`Z85 encodes a multiple of 4 bytes, not ${bytes.length}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let value = view.getUint32(at);
    let group = "";
    for (let digit = 0; digit < 5; digit++) {
      group = alphabet[value % base] + group;
      value = Math.floor(value / base);
    }
    text += group;
  }
  return text;
}

/** Undefined if the text is not Z85. */
export function decodeZ85(text: string): Buffer | undefined {
  if (text.length % 5 !== 0) return undefined;
  const bytes = Buffer.allocUnsafeSlow((text.length / 5) * 4);
  for (let at = 0; at < text.length; at += 5) {
    let value = 0;
    for (const character of text.slice(at, at + 5)) {
      const digit = values.get(character);
      if (digit === undefined) return undefined;
      value = value * base + digit;
    }
    if (value > 0xffff_ffff) return undefined;
    bytes.writeUInt32BE(value, (at / 5) * 4);
  }
  return bytes;
}
