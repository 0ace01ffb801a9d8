// Some work for each of many items, several at once, and what came of them in the order of the items. The next item is
// read only when there is room, so a slow end holds back the source.

export async function* inOrder<Item, Outcome>(
  items: Iterable<Item> | AsyncIterable<Item>,
  atOnce: number,
  work: (item: Item, index: number) => Promise<Outcome>,
): AsyncGenerator<Outcome> {
  const underWay: Promise<Outcome>[] = [];
  let index = 0;
  for await (const item of items) {
    const outcome = work(item, index);
    // It may fail while an earlier one is awaited; it is awaited itself later.
    outcome.catch(() => {});
    underWay.push(outcome);
    index += 1;
    while (underWay.length >= atOnce) yield (await underWay.shift()) as Outcome;
  }
  for (const outcome of underWay) yield await outcome;
}

/** The items until the signal fires; one that is waited for then is not. */
export async function* untilAborted<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  // One listener for all of them: one for each item, or a race with one promise, would stay until the end.
  let wake: () => void = () => {};
  const abort = () => wake();
  signal.addEventListener("abort", abort, { once: true });
  try {
    while (!signal.aborted) {
      const next = await new Promise<IteratorResult<Item> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined);
        Promise.resolve(iterator.next()).then(resolve, reject);
      });
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", abort);
    // Not awaited: it waits for the item that is under way, which may never come.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
