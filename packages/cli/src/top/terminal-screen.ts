// The terminal's alternate screen, which restores the previous content afterwards: frames out, keys
// in.

/** Longer than any key: an unfinished sequence is not one. */
const sequences: ReadonlyMap<string, string> = new Map([
  ["\x1b[A", "up"],
  ["\x1b[B", "down"],
  ["\x1bOA", "up"],
  ["\x1bOB", "down"],
  ["\x1b", "esc"],
  ["\r", "enter"],
  ["\n", "enter"],
  ["\x7f", "backspace"],
  ["\b", "backspace"],
]);

/** The keys of what a terminal sent at once. Unknown sequences are dropped. */
export function keysIn(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: keys are sent as control characters.
  return [...text.matchAll(/\x1b(?:\[[\d;]*[A-Za-z~]|O[A-Za-z])?|[^\x1b]/gu)].flatMap(([key]) => {
    const name = sequences.get(key) ?? key;
    return name.length > 1 && name.startsWith("\x1b") ? [] : [name];
  });
}

export class TerminalScreen {
  readonly #onData: (data: Buffer) => void;
  readonly #onResize: () => void;

  constructor(on: { readonly key: (key: string) => void; readonly resize: () => void }) {
    process.stdout.write("\x1b[?1049h\x1b[?25l");
    this.#onData = (data) => {
      for (const key of keysIn(data.toString("utf8"))) on.key(key);
    };
    this.#onResize = on.resize;
    process.stdout.on("resize", this.#onResize);
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(true);
    process.stdin.on("data", this.#onData);
  }

  get size(): { width: number; height: number } {
    return { width: process.stdout.columns || 80, height: process.stdout.rows || 24 };
  }

  /** A whole frame in one write. The last line has no line end, which would scroll. */
  draw(lines: readonly string[]): void {
    process.stdout.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J`);
  }

  leave(): void {
    process.stdout.off("resize", this.#onResize);
    process.stdout.write("\x1b[?25h\x1b[?1049l");
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(false);
    process.stdin.off("data", this.#onData);
    process.stdin.pause();
  }
}
