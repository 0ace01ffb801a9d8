// Objects in the engine. A small object is a memo and also stays in memory. A large one is written
// in pieces; when all are committed, its bytes leave memory and are read back when needed.

import { createHash, type Hash } from "node:crypto";
import type { YardEvent } from "@yardmaster/core";
import { objectDropped, objectWritten, pieceWritten } from "./memos.js";
import type { ScalerObject } from "./scaler-object.js";
import { type ObjectFrame, pieceBytesMax, piecesOf, type ReadMemo, StoredBytes } from "./stored-bytes.js";

/** [scaler 5.7] Larger objects are kept only in the engine. */
export const inMemoryBytesMax = 64_000;
/**
 * Pieces of one object being written at the same time: enough to keep the disk busy, too few to
 * fill a commit.
 */
const piecesUnderWay = 4;

type MemoWritten = Extract<YardEvent, { type: "memo-written" }>;
/** Commits a memo and calls `whenSafe` when it is committed. */
export type WriteMemo = (memo: MemoWritten, whenSafe: () => void) => void;

export interface StorageHost {
  post(event: YardEvent): void;
  readonly write: WriteMemo;
  readonly readMemo: ReadMemo;
  /** A reader no longer needs the object. */
  release(object: ScalerObject): void;
}

export interface StorageSettings {
  /** [scaler 8.1] False if the engine is not durable; then nothing is written. */
  readonly isRemembered: boolean;
  readonly inMemoryBytesMax?: number;
}

/** An object that is being written to the engine. */
interface Storing {
  readonly object: ScalerObject;
  readonly bytes: Buffer;
  readonly digest: Hash;
  nextPiece: number;
  underWay: number;
  isCancelled: boolean;
  readonly whenOver: (() => void)[];
}

export class ObjectStorage {
  readonly #host: StorageHost;
  readonly #isRemembered: boolean;
  readonly #inMemoryBytesMax: number;
  readonly #storing = new Map<ScalerObject, Storing>();

  constructor(settings: StorageSettings, host: StorageHost) {
    this.#host = host;
    this.#isRemembered = settings.isRemembered;
    this.#inMemoryBytesMax = settings.inMemoryBytesMax ?? inMemoryBytesMax;
  }

  /** The object was created or its owners changed. `isNew` is true if its content changed too. */
  written(object: ScalerObject, isNew: boolean): void {
    // The owners of an object that is still being stored are written at the end.
    if (!this.#isRemembered || (!isNew && this.#storing.has(object))) return;
    const { bytes } = object;
    if (isNew && bytes !== undefined && bytes.length > this.#inMemoryBytesMax) this.#store(object, bytes);
    else this.#host.post(objectWritten(object));
  }

  /** The object was deleted, or its content is about to change. */
  dropped(object: ScalerObject): void {
    if (!this.#isRemembered) return;
    const storing = this.#storing.get(object);
    for (const event of objectDropped(object, storing !== undefined)) this.#host.post(event);
    if (object.place !== undefined) object.place.isGone = true;
    if (storing !== undefined) this.#end(storing, true);
  }

  /** True while the object is being written. */
  isStoring(object: ScalerObject): boolean {
    return this.#storing.size > 0 && this.#storing.has(object);
  }

  /** Calls `run` when an object that is being written is committed, or will never be. */
  whenStored(object: ScalerObject, run: () => void): void {
    this.#storing.get(object)?.whenOver.push(run);
  }

  /**
   * The object's bytes as a frame of an answer. Bytes that are in the engine stay there until the
   * frame is sent or abandoned.
   */
  frameOf(object: ScalerObject): ObjectFrame | undefined {
    const { bytes, place } = object;
    if (bytes !== undefined || place === undefined) return bytes;
    object.needs += 1;
    return new StoredBytes(object.id, place, this.#host.readMemo, () => this.#host.release(object));
  }

  /**
   * Reads all of the object's bytes, at once if they are in memory. Gives undefined if they cannot
   * be read.
   */
  read(object: ScalerObject, take: (bytes: Buffer | undefined) => void): void {
    const frame = this.frameOf(object);
    if (frame instanceof StoredBytes) frame.pullAll(take);
    else take(frame);
  }

  #store(object: ScalerObject, bytes: Buffer): void {
    const storing: Storing = {
      ...{ object, bytes, digest: createHash("sha256") },
      ...{ nextPiece: 0, underWay: 0, isCancelled: false, whenOver: [] },
    };
    this.#storing.set(object, storing);
    this.#storeNext(storing);
  }

  /**
   * Writes the pieces first, then the memo that names them. Pieces without that memo are discarded
   * at the next start.
   */
  #storeNext(storing: Storing): void {
    const { object, bytes, digest } = storing;
    const pieces = piecesOf(bytes.length);
    while (storing.underWay < piecesUnderWay && storing.nextPiece < pieces) {
      const at = storing.nextPiece * pieceBytesMax;
      const piece = bytes.subarray(at, at + pieceBytesMax);
      digest.update(piece);
      this.#write(storing, pieceWritten(object.id, storing.nextPiece, piece), () => this.#storeNext(storing));
      storing.nextPiece += 1;
    }
    if (storing.underWay > 0) return;
    object.store({ size: bytes.length, digest: digest.digest(), isGone: false });
    this.#write(storing, objectWritten(object), () => this.#end(storing, false));
  }

  #write(storing: Storing, memo: MemoWritten, then: () => void): void {
    storing.underWay += 1;
    this.#host.write(memo, () => {
      storing.underWay -= 1;
      if (!storing.isCancelled) then();
    });
  }

  #end(storing: Storing, isCancelled: boolean): void {
    const { object, whenOver } = storing;
    storing.isCancelled = isCancelled;
    this.#storing.delete(object);
    // [scaler 5.8] The worker is about to name its newest object as a result, which needs the
    // bytes.
    const isNewestMade = object.made !== undefined && object.nextMade === undefined;
    if (!isCancelled && !isNewestMade) object.dropBytes();
    for (const run of whenOver) run();
  }
}
