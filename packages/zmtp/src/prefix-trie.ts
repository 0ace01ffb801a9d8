// Finds the subscribers of a message by their prefixes. A radix trie: it has at most twice as many
// nodes as distinct prefixes, and a lookup walks the topic once, whatever the number of
// subscriptions.

import { keptCopy } from "./kept-copy.js";

interface Node<Owner> {
  /** The bytes between the parent and this node; empty at the root. */
  label: Buffer;
  /** By the first byte of the child's label. */
  children: Map<number, Node<Owner>> | undefined;
  owners: Set<Owner> | undefined;
}

export class PrefixTrie<Owner> {
  private readonly root: Node<Owner> = newNode(Buffer.alloc(0));

  add(prefix: Buffer, owner: Owner): void {
    let node = this.root;
    let at = 0;
    while (at < prefix.length) {
      const child = node.children?.get(prefix[at] as number);
      if (child === undefined) {
        const leaf = newNode<Owner>(keptCopy(prefix.subarray(at)));
        attach(node, leaf);
        node = leaf;
        break;
      }
      const shared = sharedBytes(child.label, prefix, at);
      node = shared === child.label.length ? child : split(node, child, shared);
      at += shared;
    }
    node.owners ??= new Set();
    node.owners.add(owner);
  }

  remove(prefix: Buffer, owner: Owner): void {
    const path: Node<Owner>[] = [this.root];
    let node = this.root;
    let at = 0;
    while (at < prefix.length) {
      const child = node.children?.get(prefix[at] as number);
      if (child === undefined || sharedBytes(child.label, prefix, at) < child.label.length) return;
      path.push(child);
      node = child;
      at += child.label.length;
    }
    node.owners?.delete(owner);
    if (node.owners?.size === 0) node.owners = undefined;
    prune(path);
  }

  /**
   * Calls `visit` with each set of owners whose prefix matches the topic. An owner of two prefixes
   * is in two sets.
   */
  match(topic: Uint8Array, visit: (owners: ReadonlySet<Owner>) => void): void {
    let node: Node<Owner> | undefined = this.root;
    let at = 0;
    for (;;) {
      if (node.owners !== undefined) visit(node.owners);
      if (at >= topic.length) return;
      node = node.children?.get(topic[at] as number);
      if (node === undefined || sharedBytes(node.label, topic, at) < node.label.length) return;
      at += node.label.length;
    }
  }

  get isEmpty(): boolean {
    return this.root.owners === undefined && this.root.children === undefined;
  }
}

function newNode<Owner>(label: Buffer): Node<Owner> {
  return { label, children: undefined, owners: undefined };
}

function attach<Owner>(parent: Node<Owner>, child: Node<Owner>): void {
  parent.children ??= new Map();
  parent.children.set(child.label[0] as number, child);
}

/** Inserts a node between parent and child, after the first `length` bytes of the child's label. */
function split<Owner>(parent: Node<Owner>, child: Node<Owner>, length: number): Node<Owner> {
  const middle = newNode<Owner>(keptCopy(child.label.subarray(0, length)));
  attach(parent, middle);
  child.label = keptCopy(child.label.subarray(length));
  attach(middle, child);
  return middle;
}

/**
 * Removes nodes without owners, from the end of the path up, and merges a lone child into its
 * parent.
 */
function prune<Owner>(path: Node<Owner>[]): void {
  for (let depth = path.length - 1; depth > 0; depth--) {
    const node = path[depth] as Node<Owner>;
    const parent = path[depth - 1] as Node<Owner>;
    if (node.owners !== undefined) return;
    const size = node.children?.size ?? 0;
    if (size > 1) return;
    if (size === 1) {
      const [only] = node.children?.values() ?? [];
      if (only === undefined) return;
      only.label = Buffer.concat([node.label, only.label]);
      attach(parent, only);
      return;
    }
    parent.children?.delete(node.label[0] as number);
    if (parent.children?.size === 0) parent.children = undefined;
  }
}

function sharedBytes(label: Buffer, bytes: Uint8Array, at: number): number {
  const end = Math.min(label.length, bytes.length - at);
  let length = 0;
  while (length < end && label[length] === bytes[at + length]) length++;
  return length;
}
