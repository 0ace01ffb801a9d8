// The wire tap: messages on a door, decoded, for whoever listens. While nobody does, a message costs one comparison: the
// caller asks `isOpen` before it makes anything to show.

export interface TappedMessage {
  readonly door: string;
  readonly direction: "in" | "out";
  readonly peer: string;
  /** The message's type in its dialect's own word. */
  readonly type: string;
  readonly bytes: number;
  /** What is in it, short enough to be shown. */
  readonly content: unknown;
}

export type TapListener = (message: TappedMessage) => void;

export class Tap {
  readonly #listeners = new Set<TapListener>();

  get isOpen(): boolean {
    return this.#listeners.size > 0;
  }

  show(message: TappedMessage): void {
    for (const listener of this.#listeners) listener(message);
  }

  /** Listens until the function returned is called. */
  listen(listener: TapListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
