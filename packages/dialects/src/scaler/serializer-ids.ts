// Where clients' serializers are asked for. A client of form r stores its serializer under one id, and a worker written from the
// document asks for another [scaler 1.7].

import { documentSerializerId, serializerObjectId } from "./ids.js";
import { keyOf } from "./objects.js";

const documentIdBytes = 16;

export class SerializerIds {
  readonly #stored = new Map<string, Buffer>();
  readonly #asked = new Map<string, Buffer>();

  add(source: Buffer): void {
    const [stored, asked] = [serializerObjectId(source), documentSerializerId(source)];
    this.#stored.set(keyOf(asked), stored);
    this.#asked.set(keyOf(stored), asked);
  }

  delete(source: Buffer): void {
    this.#stored.delete(keyOf(documentSerializerId(source)));
    this.#asked.delete(keyOf(serializerObjectId(source)));
  }

  /** The id under which the serializer is stored that the document's id asks for. */
  storedFor(id: Buffer): Buffer | undefined {
    return id.length === documentIdBytes ? this.#stored.get(keyOf(id)) : undefined;
  }

  /** The document's id for a serializer that is stored under this one. */
  askedFor(id: Buffer): Buffer | undefined {
    return this.#asked.size === 0 ? undefined : this.#asked.get(keyOf(id));
  }
}
