// Notes at the bottom left: what was done, copied or refused. At most three; errors stay until
// closed.

export interface Toast {
  readonly id: number;
  readonly words: string;
  readonly isError: boolean;
  readonly undo?: { readonly label: string; readonly act: () => void } | undefined;
}

const shownMs = 6_000;
const shownMax = 3;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

export function toast(words: string, options: { isError?: boolean; undo?: Toast["undo"] } = {}): void {
  lastId += 1;
  const id = lastId;
  const made: Toast = { id, words, isError: options.isError ?? false, undo: options.undo };
  toasts = [...toasts, made].slice(-shownMax);
  if (!made.isError) setTimeout(() => closeToast(id), shownMs);
  changed();
}

export function closeToast(id: number): void {
  toasts = toasts.filter((one) => one.id !== id);
  changed();
}

export function shownToasts(): readonly Toast[] {
  return toasts;
}

export function onToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function changed(): void {
  for (const listener of listeners) listener();
}
