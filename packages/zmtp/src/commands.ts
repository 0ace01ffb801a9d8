// Command frames, to bytes and back: a length, a name, and data that depends on the name [37/ZMTP, commands].

export interface Command {
  readonly name: string;
  readonly data: Buffer;
}

// What a PING may carry and its PONG gives back [37/ZMTP, connection heartbeating].
const contextBytesMax = 16;

export function encodeCommand(name: string, data: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(1 + name.length + data.length);
  body[0] = name.length;
  body.write(name, 1, "latin1");
  body.set(data, 1 + name.length);
  return body;
}

/** The command in a frame's body, or undefined if it has no room for its own name. */
export function decodeCommand(body: Buffer): Command | undefined {
  const nameLength = body[0];
  if (nameLength === undefined || nameLength === 0 || 1 + nameLength > body.length) return undefined;
  return { name: body.toString("latin1", 1, 1 + nameLength), data: body.subarray(1 + nameLength) };
}

/** `ttlMs` 0 asks nothing of the peer; otherwise it should hang up after so long without a word from us. */
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

/** ERROR's data is a reason with its length in one byte. */
export function encodeError(reason: string): Buffer {
  const text = Buffer.from(reason.slice(0, 255), "latin1");
  return encodeCommand("ERROR", Buffer.concat([Buffer.of(text.length), text]));
}
