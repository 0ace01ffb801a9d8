// The keyboard: one listener for the page, to which views add what their keys do. Keys do nothing
// in fields, and single keys can be switched off, since some people's tools type them.

import { useLayoutEffect, useRef } from "preact/hooks";

const offName = "yardmaster.keysOff";

export type KeyTable = Readonly<Record<string, ((event: KeyboardEvent) => void) | undefined>>;

const tables: { current: KeyTable }[] = [];

export function areKeysOff(): boolean {
  try {
    return localStorage.getItem(offName) === "1";
  } catch {
    return false;
  }
}

export function switchKeys(isOff: boolean): void {
  try {
    if (isOff) localStorage.setItem(offName, "1");
    else localStorage.removeItem(offName);
  } catch {
    // Without storage the choice cannot be kept.
  }
}

/** The name under which a key stands in a table: "j", "R", "enter", "left", "ctrl k". */
export function keyName(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey">): string {
  const names = new Map([
    [" ", "space"],
    ["ArrowLeft", "left"],
    ["ArrowRight", "right"],
    ["ArrowUp", "up"],
    ["ArrowDown", "down"],
    ["Escape", "esc"],
    ["Enter", "enter"],
  ]);
  const name = names.get(event.key) ?? event.key;
  return event.ctrlKey || event.metaKey ? `ctrl ${name.toLowerCase()}` : name;
}

let prefix = "";
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

function onKey(event: KeyboardEvent): void {
  if (event.altKey || event.defaultPrevented) return;
  const name = keyName(event);
  const isInField = isField(event.target);
  if (isInField && name !== "esc" && !name.startsWith("ctrl ")) return;
  const isControl = event.target instanceof Element && event.target.closest("button, a, summary") !== null;
  if (isControl && (name === "enter" || name === "space")) return;
  // The view behind a dialog must not move or act.
  if (name !== "esc" && document.querySelector("[aria-modal]") !== null) return;
  const isSingle = !name.startsWith("ctrl ") && name !== "esc";
  if (isSingle && areKeysOff()) return;
  const whole = prefix === "" ? name : `${prefix} ${name}`;
  prefix = "";
  clearTimeout(prefixTimer);
  for (const { current } of tables.toReversed()) {
    const act = current[whole];
    if (!act) continue;
    event.preventDefault();
    act(event);
    return;
  }
  if (name === "g" && whole === "g") {
    prefix = "g";
    prefixTimer = setTimeout(() => {
      prefix = "";
    }, 3_000);
  }
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)
  );
}

export function startKeys(): void {
  addEventListener("keydown", onKey);
}

/** Adds keys while the component is there; the latest component to add a key has it. */
export function useKeys(table: KeyTable): void {
  const held = useRef(table);
  held.current = table;
  // Before the browser paints, so that a key counts as soon as the view is seen.
  useLayoutEffect(() => {
    tables.push(held);
    return () => void tables.splice(tables.indexOf(held), 1);
  }, []);
}
