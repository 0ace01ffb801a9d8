// Items delivered by callbacks, to be awaited in order.

export class Inbox<Item> {
  private readonly items: Item[] = [];
  private readonly takers: Array<(item: Item) => void> = [];

  /** Bound, so that it can be used as a handler. */
  readonly put = (item: Item): void => {
    const taker = this.takers.shift();
    if (taker) taker(item);
    else this.items.push(item);
  };

  next(): Promise<Item> {
    const item = this.items.shift();
    return item === undefined ? new Promise((resolve) => this.takers.push(resolve)) : Promise.resolve(item);
  }
}

/** A handler for onMessage, and the messages that it received as text. */
export function messages(): { got: Inbox<string[]>; onMessage: (peer: unknown, frames: Buffer[]) => void } {
  const got = new Inbox<string[]>();
  return { got, onMessage: (_peer, frames) => got.put(frames.map(String)) };
}
