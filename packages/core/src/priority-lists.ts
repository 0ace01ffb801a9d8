// Items by priority: highest first, and in order of arrival within a priority. There is one list
// per priority, linked through the items so that any of them leaves in constant time, and a heap of
// the priorities in use.

/**
 * Number of empty lists that are kept before they are cleared, so that clearing costs each push
 * next to nothing.
 */
const emptyListsMax = 32;

/** Written only by the lists that hold the item. */
export interface Listed<Self extends Listed<Self>> {
  list: PriorityList<Self> | undefined;
  previous: Self | undefined;
  next: Self | undefined;
}

export class PriorityList<Item extends Listed<Item>> {
  readonly priority: number;
  readonly owner: PriorityLists<Item>;
  first: Item | undefined = undefined;
  last: Item | undefined = undefined;

  constructor(priority: number, owner: PriorityLists<Item>) {
    this.priority = priority;
    this.owner = owner;
  }
}

export class PriorityLists<Item extends Listed<Item>> {
  /** Made with the second list: most holders only ever have one, which is the top of the heap. */
  #byPriority: Map<number, PriorityList<Item>> | undefined = undefined;
  /**
   * Lists by priority, highest at the top. An empty list stays until it reaches the top while
   * others exist, or until there are more lists than items.
   */
  #heap: PriorityList<Item>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Lists in no order, empty ones included. */
  get lists(): readonly PriorityList<Item>[] {
    return this.#heap;
  }

  first(): Item | undefined {
    for (;;) {
      const list = this.#heap[0];
      if (list === undefined || list.first !== undefined) return list?.first;
      if (this.#heap.length === 1) return undefined;
      this.#dropTop();
    }
  }

  /** How many items have a higher priority than this, counted up to `max`. */
  countAbove(priority: number, max: number): number {
    let count = 0;
    for (const list of this.#heap) {
      if (list.priority <= priority) continue;
      for (let item = list.first; item !== undefined && count < max; item = item.next) count += 1;
    }
    return count;
  }

  pushLast(item: Item, priority: number): void {
    const list = this.#listFor(priority);
    item.list = list;
    item.previous = list.last;
    if (list.last === undefined) list.first = item;
    else list.last.next = item;
    list.last = item;
    this.#size += 1;
  }

  pushFirst(item: Item, priority: number): void {
    const list = this.#listFor(priority);
    item.list = list;
    item.next = list.first;
    if (list.first === undefined) list.last = item;
    else list.first.previous = item;
    list.first = item;
    this.#size += 1;
  }

  /** The item must be in one of these lists. */
  unlink(item: Item): void {
    const list = item.list as PriorityList<Item>;
    if (item.previous === undefined) list.first = item.next;
    else item.previous.next = item.next;
    if (item.next === undefined) list.last = item.previous;
    else item.next.previous = item.previous;
    item.list = undefined;
    item.previous = undefined;
    item.next = undefined;
    this.#size -= 1;
  }

  #listFor(priority: number): PriorityList<Item> {
    const top = this.#heap[0];
    if (top?.priority === priority) return top;
    return this.#byPriority?.get(priority) ?? this.#add(priority);
  }

  #add(priority: number): PriorityList<Item> {
    // One empty list may stay at the top. A holder with changing priorities must not collect them.
    if (this.#heap.length === 1 && this.#heap[0]?.first === undefined) this.#dropTop();
    else if (this.#heap.length > 2 * this.#size + emptyListsMax) this.#dropEmpty();
    const list = new PriorityList<Item>(priority, this);
    const top = this.#heap[0];
    if (top !== undefined) {
      this.#byPriority ??= new Map([[top.priority, top]]);
      this.#byPriority.set(priority, list);
    } else this.#byPriority?.set(priority, list);
    this.#rise(list);
    return list;
  }

  #dropEmpty(): void {
    const lists = this.#heap;
    this.#heap = [];
    for (const list of lists) {
      if (list.first === undefined) this.#byPriority?.delete(list.priority);
      else this.#rise(list);
    }
  }

  #rise(list: PriorityList<Item>): void {
    const heap = this.#heap;
    let index = heap.length;
    if (index === 0) {
      // A new array of one element, because an empty array that grows reserves room for many, and
      // most holders never have a second list.
      this.#heap = [list];
      return;
    }
    heap.push(list);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex] as PriorityList<Item>;
      if (parent.priority >= list.priority) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = list;
  }

  #dropTop(): void {
    const heap = this.#heap;
    const top = heap[0] as PriorityList<Item>;
    this.#byPriority?.delete(top.priority);
    const list = heap.pop() as PriorityList<Item>;
    if (list === top) return;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const isRight = right !== undefined && left !== undefined && right.priority > left.priority;
      const child = isRight ? right : left;
      if (child === undefined || child.priority <= list.priority) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = list;
  }
}
