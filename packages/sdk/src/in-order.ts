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
