// NaCl's boxes by libsodium in WebAssembly, for handshakes: X25519, then XSalsa20 and Poly1305. The
// module is loaded on first use, because it takes about 20 ms and 4 MB that NULL does not need.
// Keys and texts are erased from the module's memory after each call.

import type { Sodium } from "libsodium-sumo";

export const keyBytes = 32;
export const nonceBytes = 24;
export const tagBytes = 16;

let loading: Promise<Nacl> | undefined;

/** The first call loads the module, later ones return the same. */
export function loadNacl(): Promise<Nacl> {
  loading ??= import("libsodium-sumo").then(async ({ default: create }) => new Nacl(await create()));
  return loading;
}

export class Nacl {
  readonly sodium: Sodium;

  constructor(sodium: Sodium) {
    this.sodium = sodium;
  }

  publicKeyOf(secretKey: Uint8Array): Buffer {
    return this.borrow(2 * keyBytes, (at) => {
      this.sodium.HEAPU8.set(secretKey, at);
      this.sodium._crypto_scalarmult_base(at + keyBytes, at);
      return this.copy(at + keyBytes, keyBytes);
    });
  }

  /**
   * The key of all boxes between the owners of these keys; undefined if the public key is one of
   * the few points that give the same key with every secret.
   */
  sharedKey(publicKey: Uint8Array, secretKey: Uint8Array): Buffer | undefined {
    return this.borrow(3 * keyBytes, (at) => {
      const { HEAPU8 } = this.sodium;
      HEAPU8.set(publicKey, at);
      HEAPU8.set(secretKey, at + keyBytes);
      const result = at + 2 * keyBytes;
      if (this.sodium._crypto_box_beforenm(result, at, at + keyBytes) !== 0) return undefined;
      return this.copy(result, keyBytes);
    });
  }

  seal(key: Uint8Array, nonce: Uint8Array, clear: Uint8Array): Buffer {
    return this.inBox(key, nonce, clear, (keyAt, nonceAt, clearAt) => {
      const { length } = clear;
      this.sodium._crypto_secretbox_easy(clearAt, clearAt, length, 0, nonceAt, keyAt);
      return this.copy(clearAt, length + tagBytes);
    });
  }

  /** Undefined if the box was not sealed with this key and nonce. */
  open(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Buffer | undefined {
    const { length } = sealed;
    if (length < tagBytes) return undefined;
    return this.inBox(key, nonce, sealed, (keyAt, nonceAt, sealedAt) => {
      const code = this.sodium._crypto_secretbox_open_easy(sealedAt, sealedAt, length, 0, nonceAt, keyAt);
      return code === 0 ? this.copy(sealedAt, length - tagBytes) : undefined;
    });
  }

  private inBox<Result>(
    key: Uint8Array,
    nonce: Uint8Array,
    text: Uint8Array,
    run: (keyAt: number, nonceAt: number, textAt: number) => Result,
  ): Result {
    return this.borrow(keyBytes + nonceBytes + text.length + tagBytes, (at) => {
      const { HEAPU8 } = this.sodium;
      HEAPU8.set(key, at);
      HEAPU8.set(nonce, at + keyBytes);
      HEAPU8.set(text, at + keyBytes + nonceBytes);
      return run(at, at + keyBytes, at + keyBytes + nonceBytes);
    });
  }

  private borrow<Result>(bytes: number, run: (at: number) => Result): Result {
    const at = this.sodium._malloc(bytes);
    try {
      return run(at);
    } finally {
      this.sodium.HEAPU8.fill(0, at, at + bytes);
      this.sodium._free(at);
    }
  }

  /** Outside Node's shared pool, so that erasing it erases the only copy. */
  private copy(at: number, bytes: number): Buffer {
    const copied = Buffer.allocUnsafeSlow(bytes);
    copied.set(this.sodium.HEAPU8.subarray(at, at + bytes));
    return copied;
  }
}
