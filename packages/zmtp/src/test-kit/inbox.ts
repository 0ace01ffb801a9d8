// For tests: collects what callbacks bring, to be awaited in order, so that no test sleeps.

export class Inbox<Item> {
  readonly items: Item[] = [];
  private waiting: Array<{ resolve: (item: Item) => void }> = [];

  /** Bound, so that it can be used as a handler. */
  readonly put = (item: Item): void => {
    const first = this.waiting.shift();
    if (first) first.resolve(item);
    else this.items.push(item);
  };

  next(): Promise<Item> {
    const item = this.items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve) => this.waiting.push({ resolve }));
  }

  async take(count: number): Promise<Item[]> {
    const taken: Item[] = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }
}
