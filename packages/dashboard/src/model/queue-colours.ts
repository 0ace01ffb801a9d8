// A queue's colour: its name's hash among eight, with probing so that the queues on show differ;
// the ninth and later are drawn in one quiet colour. Names keep their colour as queues come and go,
// so a colour can be learnt.

export interface QueueColour {
  readonly dark: string;
  readonly light: string;
}

export const palette: readonly QueueColour[] = [
  { dark: "#afd0ff", light: "#2b5fa5" },
  { dark: "#ca9036", light: "#b77e1f" },
  { dark: "#7ba087", light: "#679c7a" },
  { dark: "#b396d9", light: "#a277d4" },
  { dark: "#b26f19", light: "#5e4123" },
  { dark: "#e4dc7f", light: "#6b6417" },
  { dark: "#e6b0bc", light: "#9b5b6b" },
  { dark: "#4f89a0", light: "#1b4e61" },
];
export const othersColour: QueueColour = { dark: "#5b676e", light: "#8d949a" };
/** The index of `othersColour`, for typed arrays that hold a colour a byte. */
export const othersIndex = palette.length;

/** FNV-1a: short names that differ in one letter get far hashes. */
export function nameHash(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}

export class QueueColours {
  readonly #indexes = new Map<string, number>();
  readonly #owners: (string | undefined)[] = palette.map(() => undefined);

  /**
   * The colour's index for a name; the first to come gets the place that its hash names, or the
   * next free one.
   */
  indexOf(name: string): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    const start = nameHash(name) % palette.length;
    for (let step = 0; step < palette.length; step += 1) {
      const index = (start + step) % palette.length;
      if (this.#owners[index] !== undefined) continue;
      this.#owners[index] = name;
      this.#indexes.set(name, index);
      return index;
    }
    return othersIndex;
  }

  /**
   * Frees the places of queues that are gone, and gives new names their places in alphabetical
   * order, so that every page shows the same colours. The names come busiest first: if there are
   * more than colours, these get one.
   */
  keep(names: Iterable<string>): void {
    const shown = new Set(names);
    for (const [name, index] of this.#indexes) {
      if (shown.has(name)) continue;
      this.#indexes.delete(name);
      this.#owners[index] = undefined;
    }
    const free = this.#owners.filter((owner) => owner === undefined).length;
    const fresh = [...shown].filter((name) => !this.#indexes.has(name)).slice(0, free);
    for (const name of fresh.sort()) this.indexOf(name);
  }
}

export function colourAt(index: number, isDark: boolean): string {
  const colour = palette[index] ?? othersColour;
  return isDark ? colour.dark : colour.light;
}

/** Text on a queue's colour: whichever of the two contrasts more. */
export function textOn(colour: string): string {
  return contrast(colour, "#14181a") >= contrast(colour, "#ffffff") ? "#14181a" : "#ffffff";
}

/** `share` of one colour, the rest of the other, both written as #rrggbb. */
export function mixed(one: string, other: string, share: number): string {
  const part = (at: number) => {
    const [a, b] = [one, other].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16)) as [
      number,
      number,
    ];
    return Math.round(a * share + b * (1 - share))
      .toString(16)
      .padStart(2, "0");
  };
  return `#${part(1)}${part(3)}${part(5)}`;
}

/** WCAG's contrast of two colours written as #rrggbb. */
export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
