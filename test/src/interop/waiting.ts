// What callbacks brought, to be awaited in order.

export class Waiting<Item> {
  private readonly items: Item[] = [];
  private readonly takers: Array<(item: Item) => void> = [];

  /** Bound, so that it can be a handler. */
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

/** A handler for onMessage and what it brought, as text. */
export function messages(): { got: Waiting<string[]>; onMessage: (peer: unknown, frames: Buffer[]) => void } {
  const got = new Waiting<string[]>();
  return { got, onMessage: (_peer, frames) => got.put(frames.map(String)) };
}
