// Encodes and decodes command frames: a length, a name, and data that depends on the name [37/ZMTP,
// commands].

export interface Command {
  readonly name: string;
  readonly data: Buffer;
}

// Maximum context of a PING, which its PONG returns [37/ZMTP, connection heartbeating].
const contextBytesMax = 16;

export function encodeCommand(name: string, data: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(1 + name.length + data.length);
  body[0] = name.length;
  body.write(name, 1, "latin1");
  body.set(data, 1 + name.length);
  return body;
}

/** Decodes the command in a frame's body; undefined if the name does not fit. */
export function decodeCommand(body: Buffer): Command | undefined {
  const nameLength = body[0];
  if (nameLength === undefined || nameLength === 0 || 1 + nameLength > body.length) return undefined;
  return { name: body.toString("latin1", 1, 1 + nameLength), data: body.subarray(1 + nameLength) };
}

/** `ttlMs`: the peer should disconnect after that much silence from us; 0 asks for nothing. */
export function encodePing(ttlMs: number): Buffer {
  const ttl = Buffer.alloc(2);
  ttl.writeUInt16BE(Math.min(0xffff, Math.ceil(ttlMs / 100)));
  return encodeCommand("PING", ttl);
}

export interface Ping {
  readonly ttlMs: number;
  readonly context: Buffer;
}

export function decodePing(data: Buffer): Ping | undefined {
  if (data.length < 2) return undefined;
  return { ttlMs: data.readUInt16BE(0) * 100, context: data.subarray(2, 2 + contextBytesMax) };
}

/**
 * ERROR as libzmq 4.3 sends and expects it with PLAIN: its source says "\x5ERROR", where the escape
 * swallows the E. It ignores the correct form.
 */
const misspelt = Buffer.from("^RROR", "latin1");

export function encodeMisspeltError(reason: string): Buffer {
  return Buffer.concat([misspelt, Buffer.of(reason.length), Buffer.from(reason, "latin1")]);
}

export function decodeMisspeltError(body: Buffer): Command | undefined {
  if (!body.subarray(0, misspelt.length).equals(misspelt)) return undefined;
  return { name: "ERROR", data: body.subarray(misspelt.length) };
}

/** ERROR's data is a reason with its length in one byte. */
export function encodeError(reason: string): Buffer {
  const text = Buffer.from(reason.slice(0, 255), "latin1");
  return encodeCommand("ERROR", Buffer.concat([Buffer.of(text.length), text]));
}
