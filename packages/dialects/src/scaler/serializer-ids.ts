// Maps the ids under which clients' serializers are requested. A form-r client stores its
// serializer under one id, and a worker written from the document requests another [scaler 1.7].

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

  /** The id under which the serializer is stored, for the document's id. */
  storedFor(id: Buffer): Buffer | undefined {
    return id.length === documentIdBytes ? this.#stored.get(keyOf(id)) : undefined;
  }

  /** The document's id, for the id under which the serializer is stored. */
  askedFor(id: Buffer): Buffer | undefined {
    return this.#asked.size === 0 ? undefined : this.#asked.get(keyOf(id));
  }
}
