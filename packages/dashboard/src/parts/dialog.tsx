// A floating dialog: focus goes in, Tab stays in, Escape and the veil close it, and focus goes back
// where it was.

import type { ComponentChildren } from "preact";
import { createPortal } from "preact/compat";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export function Dialog(props: {
  label: string;
  class?: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  // A layout effect, because people start to type at once: the focus must move before the next key.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const first = box.current?.querySelector<HTMLElement>("[autofocus], input, textarea, button, a[href]");
    (first ?? box.current)?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  // A button that disappears takes the focus with it, and keys would go to the page behind.
  useEffect(() => {
    if (document.activeElement === document.body) box.current?.focus();
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault();
      props.onClose();
    }
    if (event.key === "Tab") keepInside(box.current, event);
  };
  return createPortal(
    <div
      class="veil"
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) props.onClose();
      }}
    >
      <div
        ref={box}
        class={`floating ${props.class ?? "dialog"}`}
        role="dialog"
        aria-modal="true"
        aria-label={props.label}
        tabIndex={-1}
        onKeyDown={onKeyDown}
      >
        {props.children}
      </div>
    </div>,
    document.body,
  );
}

function keepInside(box: HTMLElement | null, event: KeyboardEvent): void {
  const inside = [
    ...(box?.querySelectorAll<HTMLElement>("a[href], button:not(:disabled), input, textarea, select") ?? []),
  ];
  const [first, last] = [inside[0], inside.at(-1)];
  if (!first || !last) return;
  if (event.shiftKey && document.activeElement === first) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && document.activeElement === last) {
    event.preventDefault();
    first.focus();
  }
}
