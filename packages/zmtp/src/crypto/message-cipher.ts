// XSalsa20 and Poly1305 for the traffic of one direction of one connection, in NaCl's secretbox
// form. It differs from calling secretbox in two ways. The first 16 bytes of all nonces of a
// direction are the same, so their HSalsa20 is computed once, which saves a sixth of the time for a
// short message. And a long text passes through the module in pieces: WebAssembly memory never
// shrinks, so a text of 256 MB as a whole would cost 256 MB until the process ends.

import type { Sodium } from "libsodium-sumo";
import { keyBytes, tagBytes } from "./nacl.js";

/** The first bytes of the key stream are the key of Poly1305, not of the text [NaCl, secretbox]. */
const authKeyBytes = 32;
const salsaBlockBytes = 64;
/** A multiple of Salsa20's block. Larger pieces were not faster. */
const pieceBytes = 64 * 1024;
/** Below this size, a loop is faster than TypedArray.set with a view. */
const loopBytesMax = 48;

/** The module's memory for all connections: calls are synchronous, so one is used at a time. */
interface Scratch {
  readonly key: number;
  readonly nonce: number;
  readonly authKey: number;
  readonly tag: number;
  readonly otherTag: number;
  readonly state: number;
  readonly piece: number;
}

const scratches = new WeakMap<Sodium, Scratch>();

function scratchOf(sodium: Sodium): Scratch {
  let scratch = scratches.get(sodium);
  if (scratch === undefined) {
    const key = sodium._malloc(keyBytes + 16 + authKeyBytes + 2 * tagBytes);
    const state = sodium._malloc(sodium._crypto_onetimeauth_statebytes());
    const piece = sodium._malloc(tagBytes + pieceBytes);
    const [nonce, authKey, tag, otherTag] = [key + 32, key + 48, key + 80, key + 96];
    scratch = { key, nonce, authKey, tag, otherTag, state, piece };
    scratches.set(sodium, scratch);
  }
  return scratch;
}

export class MessageCipher {
  private readonly sodium: Sodium;
  private readonly scratch: Scratch;
  private readonly subkey: Buffer;

  /** `prefix`: the first 16 bytes of every nonce. The other 8 are given with each text. */
  constructor(sodium: Sodium, key: Uint8Array, prefix: Uint8Array) {
    this.sodium = sodium;
    this.scratch = scratchOf(sodium);
    const { key: keyAt, authKey: prefixAt, piece } = this.scratch;
    sodium.HEAPU8.set(key, keyAt);
    sodium.HEAPU8.set(prefix, prefixAt);
    sodium._crypto_core_hsalsa20(piece, prefixAt, keyAt, 0);
    this.subkey = Buffer.allocUnsafeSlow(keyBytes);
    this.subkey.set(sodium.HEAPU8.subarray(piece, piece + keyBytes));
    sodium.HEAPU8.fill(0, keyAt, keyAt + keyBytes);
    sodium.HEAPU8.fill(0, piece, piece + keyBytes);
  }

  /**
   * Encrypts a byte and a body to `target`: 16 bytes of tag, then the rest. The 8 bytes before
   * `at` in the target are the end of the nonce. The body may already be where its ciphertext goes.
   */
  seal(first: number, body: Uint8Array, target: Buffer, at: number): void {
    const { length } = body;
    if (authKeyBytes + 1 + length > pieceBytes) return this.sealLong(first, body, target, at);
    const { sodium, scratch } = this;
    const heap = this.prepare(target, at - 8);
    const { piece } = scratch;
    heap.fill(0, piece, piece + authKeyBytes);
    heap[piece + authKeyBytes] = first;
    copyBytes(body, 0, heap, piece + authKeyBytes + 1, length);
    sodium._crypto_stream_salsa20_xor(piece, piece, authKeyBytes + 1 + length, 0, scratch.nonce, scratch.key);
    // The tag takes the second half of its key's place, as in NaCl: the key was read before.
    sodium._crypto_onetimeauth(piece + tagBytes, piece + authKeyBytes, 1 + length, 0, piece);
    copyBytes(heap, piece + tagBytes, target, at, tagBytes + 1 + length);
    this.erase(heap);
  }

  /**
   * Decrypts in place what is at `at`: 16 bytes of tag, then the text, to the end of `bytes`. The 8
   * bytes before `at` are the end of the nonce. False if it was not sealed with this key and nonce;
   * the text is then of no use.
   */
  open(bytes: Buffer, at: number): boolean {
    const textBytes = bytes.length - at - tagBytes;
    if (textBytes < 0) return false;
    if (authKeyBytes + textBytes > pieceBytes) return this.openLong(bytes, at);
    const { sodium, scratch } = this;
    const heap = this.prepare(bytes, at - 8);
    // The text is where its part of the key stream begins; the tag is before it.
    const tag = scratch.piece + authKeyBytes - tagBytes;
    const text = scratch.piece + authKeyBytes;
    copyBytes(bytes, at, heap, tag, tagBytes + textBytes);
    this.deriveAuthKey(heap);
    const code = sodium._crypto_onetimeauth_verify(tag, text, textBytes, 0, scratch.authKey);
    if (code === 0) {
      const whole = authKeyBytes + textBytes;
      sodium._crypto_stream_salsa20_xor(scratch.piece, scratch.piece, whole, 0, scratch.nonce, scratch.key);
      copyBytes(heap, text, bytes, at + tagBytes, textBytes);
    }
    this.erase(heap);
    return code === 0;
  }

  wipe(): void {
    this.subkey.fill(0);
  }

  private sealLong(first: number, body: Uint8Array, target: Buffer, at: number): void {
    const { sodium, scratch } = this;
    const heap = this.prepare(target, at - 8);
    this.deriveAuthKey(heap);
    sodium._crypto_onetimeauth_init(scratch.state, scratch.authKey);
    const text = at + tagBytes;
    // The body is moved to its place first, so that pieces are encrypted in place.
    if (body.buffer !== target.buffer || body.byteOffset !== target.byteOffset + text + 1) {
      target.set(body, text + 1);
    }
    target[text] = first;
    this.eachPiece(target, text, text + 1 + body.length, (pieceAt, bytes, encrypt) => {
      encrypt();
      sodium._crypto_onetimeauth_update(scratch.state, pieceAt, bytes, 0);
    });
    sodium._crypto_onetimeauth_final(scratch.state, scratch.tag);
    copyBytes(sodium.HEAPU8, scratch.tag, target, at, tagBytes);
    this.erase(heap);
  }

  /** The tag is known at the end only; nothing is released before, and a forged text is erased. */
  private openLong(bytes: Buffer, at: number): boolean {
    const { sodium, scratch } = this;
    const heap = this.prepare(bytes, at - 8);
    this.deriveAuthKey(heap);
    sodium._crypto_onetimeauth_init(scratch.state, scratch.authKey);
    this.eachPiece(bytes, at + tagBytes, bytes.length, (pieceAt, pieceLength, decrypt) => {
      sodium._crypto_onetimeauth_update(scratch.state, pieceAt, pieceLength, 0);
      decrypt();
    });
    sodium._crypto_onetimeauth_final(scratch.state, scratch.tag);
    copyBytes(bytes, at, heap, scratch.otherTag, tagBytes);
    const isGenuine = sodium._crypto_verify_16(scratch.tag, scratch.otherTag) === 0;
    if (!isGenuine) bytes.fill(0, at + tagBytes);
    this.erase(heap);
    return isGenuine;
  }

  /** Passes from..to of `bytes` through the module, in place. `crypt` applies the key stream. */
  private eachPiece(
    bytes: Buffer,
    from: number,
    to: number,
    run: (pieceAt: number, pieceLength: number, crypt: () => void) => void,
  ): void {
    const { sodium, scratch } = this;
    let skipped = authKeyBytes;
    let block = 0;
    for (let at = from; at < to; ) {
      const length = Math.min(to - at, pieceBytes - skipped);
      const pieceAt = scratch.piece + skipped;
      sodium.HEAPU8.set(bytes.subarray(at, at + length), pieceAt);
      run(pieceAt, length, () => {
        const { piece, nonce, key } = scratch;
        sodium._crypto_stream_salsa20_xor_ic(piece, piece, skipped + length, 0, nonce, block, 0, key);
      });
      bytes.set(sodium.HEAPU8.subarray(pieceAt, pieceAt + length), at);
      at += length;
      skipped = 0;
      block += pieceBytes / salsaBlockBytes;
    }
  }

  private deriveAuthKey(heap: Uint8Array): void {
    const { authKey, nonce, key } = this.scratch;
    heap.fill(0, authKey, authKey + authKeyBytes);
    this.sodium._crypto_stream_salsa20_xor(authKey, authKey, authKeyBytes, 0, nonce, key);
  }

  private prepare(nonceIn: Buffer, nonceAt: number): Uint8Array {
    const heap = this.sodium.HEAPU8;
    heap.set(this.subkey, this.scratch.key);
    const { nonce } = this.scratch;
    for (let i = 0; i < 8; i++) heap[nonce + i] = nonceIn[nonceAt + i] as number;
    return heap;
  }

  private erase(heap: Uint8Array): void {
    const { key, authKey, piece } = this.scratch;
    heap.fill(0, key, key + keyBytes);
    heap.fill(0, authKey, authKey + authKeyBytes);
    heap.fill(0, piece, piece + tagBytes);
  }
}

function copyBytes(source: Uint8Array, from: number, target: Uint8Array, to: number, length: number): void {
  if (length > loopBytesMax) target.set(source.subarray(from, from + length), to);
  else for (let i = 0; i < length; i++) target[to + i] = source[from + i] as number;
}
