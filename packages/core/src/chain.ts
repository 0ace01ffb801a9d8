// A list in order of arrival, linked through its elements: any of them leaves in constant time, and
// nothing is allocated. A `Set` or `Map` with much traffic is rebuilt again and again, and each
// table refers to its successor. Once one of them is in the old generation, it keeps all later ones
// and their contents alive.

export interface Linked<Self> {
  // Written only by its chain. Undefined outside a chain, so that a removed element does not keep
  // later ones alive.
  previous: Self | undefined;
  next: Self | undefined;
}

export class Chain<Link extends Linked<Link>> {
  first: Link | undefined = undefined;
  last: Link | undefined = undefined;
  size = 0;

  add(link: Link): void {
    link.previous = this.last;
    if (this.last === undefined) this.first = link;
    else this.last.next = link;
    this.last = link;
    this.size += 1;
  }

  /** The element must be in this chain. */
  remove(link: Link): void {
    const { previous, next } = link;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    link.previous = undefined;
    link.next = undefined;
    this.size -= 1;
  }

  /** The current element may be removed during the walk. */
  *[Symbol.iterator](): Generator<Link> {
    for (let link = this.first; link !== undefined; ) {
      const { next } = link;
      yield link;
      link = next;
    }
  }
}
