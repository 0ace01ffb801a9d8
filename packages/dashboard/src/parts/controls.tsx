// Small controls: segments, chips, names of queues, code with a copy button, buttons that ask once
// more.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toast } from "../live/toasts.js";
import { yard } from "../live/yard.js";
import { colourAt } from "../model/queue-colours.js";
import { shownBlock, shownLine } from "../model/shown-text.js";
import { CopyIcon } from "./icons.js";
import { useDark } from "./theme.js";

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

export function Segments<Value extends string>(props: {
  label: string;
  value: Value;
  choices: readonly Choice<Value>[];
  onChoose: (value: Value) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.choices.map(({ value, label }) => (
        <button
          type="button"
          key={value}
          aria-pressed={value === props.value}
          onClick={() => props.onChoose(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

export function QueueName({ name, href }: { name: string; href?: string | undefined }) {
  const isDark = useDark();
  const swatch = <span class="swatch" style={{ background: colourAt(yard.colours.indexOf(name), isDark) }} />;
  const text = <span class="truncate">{shownLine(name)}</span>;
  if (href === undefined) {
    return (
      <span class="queue-name">
        {swatch}
        {text}
      </span>
    );
  }
  return (
    <a class="queue-name" href={href}>
      {swatch}
      {text}
    </a>
  );
}

/** Copies, and says in a note what was copied. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  toast(`Copied ${what}.`);
}

/**
 * Without a secure context (http on another machine) there is no clipboard, but a selection can be
 * copied.
 */
function copyBySelection(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function Code({ text, what, isOneLine }: { text: string; what?: string; isOneLine?: boolean }) {
  return (
    <div class="code mono">
      {isOneLine ? shownLine(text) : shownBlock(text)}
      {what !== undefined && (
        <button type="button" class="button" onClick={() => void copy(text, what)}>
          <CopyIcon /> Copy
          <span class="hidden-text"> {what}</span>
        </button>
      )}
    </div>
  );
}

/** A button for an order that cannot be undone: asks for a second click, and resets after 4 s. */
export function ArmedButton(props: {
  label: ComponentChildren;
  armed: string;
  class?: string;
  disabled?: boolean;
  onConfirm: () => void;
}) {
  const [isArmed, arm] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const click = () => {
    clearTimeout(timer.current);
    if (isArmed) {
      arm(false);
      props.onConfirm();
      return;
    }
    arm(true);
    timer.current = setTimeout(() => arm(false), 4_000);
  };
  return (
    <button
      type="button"
      class={`button ${props.class ?? ""} ${isArmed ? "danger" : ""}`}
      disabled={props.disabled ?? yard.link === "lost"}
      onClick={click}
    >
      {isArmed ? props.armed : props.label}
    </button>
  );
}

export function Field(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  icon?: ComponentChildren;
}) {
  return (
    <label class="field">
      {props.icon}
      <span class="hidden-text">{props.label}</span>
      <input
        type="text"
        placeholder={props.label}
        value={props.value}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** A part that could not load says so in its own place. */
export function LoadFault({ words, onRetry }: { words: string; onRetry: () => void }) {
  return (
    <div class="empty" role="alert">
      <span>Could not be loaded: {shownLine(words)}.</span>
      <span>
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      </span>
    </div>
  );
}
