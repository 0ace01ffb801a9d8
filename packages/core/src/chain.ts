// Things in the order in which they came, linked through themselves: any of them leaves in constant time, and nothing is
// made for one. Not a `Set` or a `Map`: one that much goes through is made anew time and again, each time with a
// reference to its successor, so that the first that has grown old keeps all later ones, and whatever was in them, from
// being collected as young.

export interface Linked<Self> {
  // Written by its chain alone. Without links outside of one: what has left must not keep what came after.
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

  /** Only of one that is here. */
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

  /** The one under way may be removed. */
  *[Symbol.iterator](): Generator<Link> {
    for (let link = this.first; link !== undefined; ) {
      const { next } = link;
      yield link;
      link = next;
    }
  }
}
