// Processes many items, several at a time, and yields their outcomes in the order of the items. The
// next item is read only when there is room, so a slow consumer slows down the source. A slow
// source does not delay outcomes.

/** Maps items with a bounded number under way, and yields the answers in the order of the items. */
export async function* inOrder<Item, Outcome>(
  items: Iterable<Item> | AsyncIterable<Item>,
  atOnce: number,
  work: (item: Item, index: number) => Promise<Outcome>,
): AsyncGenerator<Outcome> {
  const source = iteratorOf(items);
  const underWay: Promise<Outcome>[] = [];
  let pending: Promise<IteratorResult<Item>> | undefined;
  let isOver = false;
  let index = 0;
  try {
    while (!isOver || underWay.length > 0) {
      const [first] = underWay;
      if (!isOver && underWay.length < atOnce) pending ??= Promise.resolve(source.next());
      const next = pending === undefined ? undefined : await unlessBefore(first, pending);
      if (next === undefined) {
        yield (await first) as Outcome;
        underWay.shift();
        continue;
      }
      pending = undefined;
      if (next.done) isOver = true;
      else {
        const outcome = work(next.value, index);
        // It may reject while an earlier one is awaited; it is awaited itself later.
        outcome.catch(() => {});
        underWay.push(outcome);
        index += 1;
      }
    }
  } finally {
    // Not awaited: a pending item may never come.
    if (!isOver) void Promise.resolve(source.return?.()).catch(() => {});
  }
}

/** Yields the items, and once undefined whenever the next one takes longer than this. */
export async function* noticingPauses<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  ms: number,
): AsyncGenerator<Item | undefined> {
  const source = iteratorOf(items);
  let isOver = false;
  try {
    while (!isOver) {
      const pending = Promise.resolve(source.next());
      // It may reject while the consumer is busy; it is awaited itself later.
      pending.catch(() => {});
      if (await isLater(pending, ms)) yield undefined;
      const next = await pending;
      isOver = next.done === true;
      if (!next.done) yield next.value;
    }
  } finally {
    if (!isOver) void Promise.resolve(source.return?.()).catch(() => {});
  }
}

async function isLater(pending: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, true);
  });
  const inTime = () => false;
  const result = await Promise.race([pending.then(inTime, inTime), late]);
  clearTimeout(timer);
  return result;
}

/** The next item; undefined if the outcome `first` is there before it. */
function unlessBefore<Next>(
  first: Promise<unknown> | undefined,
  pending: Promise<Next>,
): Promise<Next | undefined> {
  const isThere = () => undefined;
  return first === undefined ? pending : Promise.race([pending, first.then(isThere, isThere)]);
}

function iteratorOf<Item>(items: AsyncIterable<Item> | Iterable<Item>): AsyncIterator<Item> | Iterator<Item> {
  return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
}

/** Yields items until the signal fires. It does not wait for an item that is still pending then. */
export async function* untilAborted<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const iterator = iteratorOf(items);
  // One listener for all items: one per item, or a race with one promise, would accumulate until
  // the end.
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
    // Not awaited: it waits for the pending item, which may never come.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
