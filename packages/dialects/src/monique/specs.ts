// The known specs: which of them pass, which are queues, and how often each was seen.

import { type MessageType, type MoniqueHeader, ownSpecs } from "./messages.js";

export interface SpecSettings {
  readonly allowMessages: readonly string[];
  readonly specs: Readonly<Record<string, { readonly title: string; readonly description: string }>>;
  /** Specs with a controller here, each with its port. */
  readonly controllers: Readonly<Record<string, number>>;
  /** [monique 4.1] Further queues: questions of these specs are tasks. */
  readonly queues: readonly string[];
}

/** A spec as shown to people. */
export interface SpecView {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  /** True if its messages pass. */
  readonly registered: boolean;
  /** True if its questions are tasks. */
  readonly queue: boolean;
  /** Messages that passed, by type. */
  readonly passed: Readonly<Record<MessageType, number>>;
  /** Number of refused messages. */
  readonly refused: number;
}

/** Maximum number of unregistered specs that are shown by name. The others are counted together. */
const strangersMax = 1_000;

const own: ReadonlySet<string> = new Set(Object.values(ownSpecs));

interface Counts {
  readonly passed: Record<MessageType, number>;
  refused: number;
}

export class SpecRegister {
  readonly #counts = new Map<string, Counts>();
  #settings: SpecSettings = { allowMessages: [], specs: {}, controllers: {}, queues: [] };
  #listed: ReadonlySet<string> = new Set();
  #queues: ReadonlySet<string> = new Set();
  #isOpen = true;

  constructor(settings: SpecSettings) {
    this.apply(settings);
  }

  /** Applies new settings and keeps the counts. */
  apply(settings: SpecSettings): void {
    this.#settings = settings;
    this.#listed = new Set([...settings.allowMessages, ...Object.keys(settings.specs)]);
    this.#isOpen = this.#listed.size === 0;
    this.#queues = new Set([...Object.keys(settings.controllers), ...settings.queues]);
  }

  /**
   * [monique 2.5] While nothing is registered, everything passes. A controller's spec is registered
   * by its presence.
   */
  passes(spec: string): boolean {
    if (this.#isOpen || this.#listed.has(spec) || own.has(spec)) return true;
    return Object.hasOwn(this.#settings.controllers, spec);
  }

  isQueue(spec: string): boolean {
    return this.#queues.has(spec);
  }

  /** The queues that a question may have gone to. */
  queues(): string[] {
    return [...this.#queues].filter((spec) => this.passes(spec));
  }

  countPassed({ spec, type }: MoniqueHeader): void {
    this.#of(spec).passed[type] += 1;
  }

  countRefused(spec: string): void {
    this.#of(spec).refused += 1;
  }

  list(): SpecView[] {
    const { specs } = this.#settings;
    const names = new Set([
      ...this.#listed,
      ...Object.keys(this.#settings.controllers),
      ...this.#counts.keys(),
    ]);
    return [...names].sort().map((name) => {
      const { passed, refused } = this.#counts.get(name) ?? noCounts();
      const { title = null, description = null } = Object.hasOwn(specs, name) ? (specs[name] ?? {}) : {};
      const isKnown = name !== others;
      const registered = isKnown && this.passes(name);
      return {
        name,
        title,
        description,
        registered,
        queue: this.isQueue(name),
        passed: { ...passed },
        refused,
      };
    });
  }

  #of(spec: string): Counts {
    const known = this.#counts.get(spec);
    if (known !== undefined) return known;
    const isStranger = !this.#listed.has(spec) && !own.has(spec) && !this.#queues.has(spec);
    const name = isStranger && this.#counts.size >= strangersMax ? others : spec;
    const counts = this.#counts.get(name) ?? noCounts();
    this.#counts.set(name, counts);
    return counts;
  }
}

/** The name under which the others are shown. */
const others = "(others)";

function noCounts(): Counts {
  return { passed: { config: 0, result: 0, error: 0, data: 0 }, refused: 0 };
}
