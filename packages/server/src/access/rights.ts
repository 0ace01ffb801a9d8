// What a principal may do, for queues whose names match its patterns. The answer for a queue is
// computed once and kept as a bit per right, because every request asks for it.

/** By their bit: see `QueueRights`. */
export const rightNames = ["submit", "work", "read", "operate", "watch"] as const;

/**
 * `submit`: submit tasks. `work`: claim tasks and report on attempts. `read`: see tasks, their
 * bodies, queues, events and metrics. `operate`: cancel, retry, pause, drain, purge, settings,
 * schedules. `watch`: see the messages on the wire.
 */
export type Right = (typeof rightNames)[number];

/** Patterns of queue names. `*` stands for any characters. */
export type RightPatterns = { readonly [Name in Right]?: readonly string[] | undefined };

const bits: Readonly<Record<Right, number>> = { submit: 1, work: 2, read: 4, operate: 8, watch: 16 };

/** Clients choose queue names, so what is kept for them is bounded. */
const keptQueuesMax = 10_000;

const everyQueue = "*";

export class QueueRights {
  readonly #patterns: readonly { readonly bit: number; readonly matches: RegExp }[];
  /** Rights that hold for every queue. */
  readonly #always: number;
  /** Rights that hold for at least one pattern. */
  readonly #sometimes: number;
  readonly #kept = new Map<string, number>();
  readonly #given: RightPatterns;

  constructor(rights: RightPatterns) {
    this.#given = rights;
    let always = 0;
    let sometimes = 0;
    const patterns: { bit: number; matches: RegExp }[] = [];
    for (const name of rightNames) {
      const bit = bits[name];
      for (const pattern of rights[name] ?? []) {
        sometimes |= bit;
        if (pattern === everyQueue) always |= bit;
        else patterns.push({ bit, matches: patternOf(pattern) });
      }
    }
    this.#always = always;
    this.#sometimes = sometimes;
    this.#patterns = patterns.filter(({ bit }) => (always & bit) === 0);
  }

  static readonly all = new QueueRights(
    Object.fromEntries(rightNames.map((name) => [name, [everyQueue]])) as RightPatterns,
  );

  may(right: Right, queue: string): boolean {
    const bit = bits[right];
    if ((this.#always & bit) !== 0) return true;
    if ((this.#sometimes & bit) === 0) return false;
    return ((this.#kept.get(queue) ?? this.#keep(queue)) & bit) !== 0;
  }

  /** The patterns as they are configured. */
  patterns(right: Right): readonly string[] {
    return this.#given[right] ?? [];
  }

  /** True if it holds for every queue, those that do not exist yet included. */
  mayForAll(right: Right): boolean {
    return (this.#always & bits[right]) !== 0;
  }

  /** True if there is a pattern for it, whether or not a queue matches. */
  mayForSome(right: Right): boolean {
    return (this.#sometimes & bits[right]) !== 0;
  }

  #keep(queue: string): number {
    let found = this.#always;
    for (const { bit, matches } of this.#patterns) if (matches.test(queue)) found |= bit;
    if (this.#kept.size >= keptQueuesMax) this.#kept.clear();
    this.#kept.set(queue, found);
    return found;
  }
}

/**
 * Repeated stars mean the same as one, and would make the match slow. A star stands for characters
 * of queue names only, so that no other text, such as a list of names, is taken for a name.
 */
function patternOf(glob: string): RegExp {
  const parts = glob.split(/\*+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[A-Za-z0-9._-]*")}$`);
}
