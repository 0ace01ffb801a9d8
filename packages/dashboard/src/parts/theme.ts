// The theme is the browser's; what is drawn on a canvas, or in a queue's colour, asks here which
// one it is.

import { useChanges } from "../live/ticker.js";

const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
const moreContrast = globalThis.matchMedia?.("(prefers-contrast: more)");
const reduced = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

export function isDark(): boolean {
  return dark?.matches ?? false;
}

export function wantsLessMotion(): boolean {
  return reduced?.matches ?? false;
}

export function useDark(): boolean {
  useMatch("(prefers-color-scheme: dark)");
  return isDark();
}

export function useMatch(query: string): boolean {
  useChanges((changed) => {
    const list = matchMedia(query);
    list.addEventListener("change", changed);
    return () => list.removeEventListener("change", changed);
  }, query);
  return globalThis.matchMedia?.(query).matches ?? false;
}

export function usePhone(): boolean {
  return useMatch("(max-width: 799px)");
}

/** True where panels stand below each other and tables leave out a column. */
export function useNarrow(): boolean {
  return useMatch("(max-width: 1199px)");
}

/** True where the yard's drawing would have no room for its figures. */
export function useYardList(): boolean {
  return useMatch("(max-width: 1099px)");
}

/** The tokens as a canvas needs them. */
export interface Inks {
  readonly bg: string;
  readonly panel: string;
  readonly line: string;
  readonly line2: string;
  readonly text: string;
  readonly muted: string;
  readonly faint: string;
  readonly fail: string;
  readonly warn: string;
  readonly accent: string;
  readonly done: string;
}

let known: { readonly theme: string; readonly inks: Inks } | undefined;

/** Read once a theme: asking for computed styles in every frame would cost more than drawing. */
export function inks(): Inks {
  const theme = `${isDark()} ${moreContrast?.matches}`;
  if (known?.theme !== theme) known = { theme, inks: readInks() };
  return known.inks;
}

function readInks(): Inks {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    bg: read("bg"),
    panel: read("panel"),
    line: read("line"),
    line2: read("line2"),
    text: read("text"),
    muted: read("muted"),
    faint: read("faint"),
    fail: read("fail"),
    warn: read("warn"),
    accent: read("accent"),
    done: read("done"),
  };
}
