// The part of libsodium's WebAssembly module that is used here. The package ships no types of its
// own. Pointers are offsets into HEAPU8; a 64-bit argument is two numbers, low and high.

declare module "libsodium-sumo" {
  export interface Sodium {
    /** Replaced when the module's memory grows, so it must not be kept. */
    readonly HEAPU8: Uint8Array;
    _malloc(bytes: number): number;
    _free(at: number): void;
    _crypto_scalarmult_base(publicKey: number, secretKey: number): number;
    _crypto_box_beforenm(key: number, publicKey: number, secretKey: number): number;
    _crypto_secretbox_easy(
      sealed: number,
      clear: number,
      low: number,
      high: number,
      nonce: number,
      key: number,
    ): number;
    _crypto_secretbox_open_easy(
      clear: number,
      sealed: number,
      low: number,
      high: number,
      nonce: number,
      key: number,
    ): number;
    _crypto_core_hsalsa20(out: number, input: number, key: number, constant: number): number;
    _crypto_stream_salsa20_xor(
      out: number,
      input: number,
      low: number,
      high: number,
      nonce: number,
      key: number,
    ): number;
    _crypto_stream_salsa20_xor_ic(
      out: number,
      input: number,
      low: number,
      high: number,
      nonce: number,
      blockLow: number,
      blockHigh: number,
      key: number,
    ): number;
    _crypto_onetimeauth(tag: number, input: number, low: number, high: number, key: number): number;
    _crypto_onetimeauth_verify(tag: number, input: number, low: number, high: number, key: number): number;
    _crypto_onetimeauth_statebytes(): number;
    _crypto_onetimeauth_init(state: number, key: number): number;
    _crypto_onetimeauth_update(state: number, input: number, low: number, high: number): number;
    _crypto_onetimeauth_final(state: number, tag: number): number;
    _crypto_verify_16(a: number, b: number): number;
  }
  export default function create(): Promise<Sodium>;
}
