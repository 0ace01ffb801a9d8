// A menu that is open closes with Escape, with a press anywhere else, and when the page scrolls.

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

export function useDismiss(box: RefObject<HTMLElement | null>, isOpen: boolean, close: () => void): void {
  // Before the browser paints, so that Escape counts as soon as the menu is seen.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const onPress = (event: Event) => {
      if (!(event.target instanceof Node) || !box.current?.contains(event.target)) close();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      // The same key also goes back in the view behind.
      event.preventDefault();
      close();
      box.current?.querySelector<HTMLElement>("[aria-expanded]")?.focus();
    };
    // What it belongs to moves away.
    const onScroll = () => close();
    addEventListener("scroll", onScroll, true);
    addEventListener("pointerdown", onPress, true);
    addEventListener("keydown", onKey, true);
    return () => {
      removeEventListener("scroll", onScroll, true);
      removeEventListener("pointerdown", onPress, true);
      removeEventListener("keydown", onKey, true);
    };
  }, [isOpen]);
}
