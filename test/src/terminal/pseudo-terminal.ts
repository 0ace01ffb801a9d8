// A command at a real pseudo-terminal (`script` of util-linux). A test reads its screen, presses
// its keys and changes its size.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

/** For test's `skip`: why these tests cannot run here; false when they can. */
export const withoutTerminal: string | false =
  spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0
    ? false
    : "script (util-linux) does not run here";

export class PseudoTerminal {
  readonly #folder = mkdtempSync(join(tmpdir(), "yard-terminal-"));
  readonly #child: ChildProcess;
  readonly #news = new EventEmitter();
  readonly ended: Promise<number | null>;
  /** Everything that was written, control sequences included. */
  written = "";

  constructor(args: readonly string[], { columns, rows }: { columns: number; rows: number }) {
    const command = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(" ");
    const line = `stty cols ${columns} rows ${rows}; tty > '${this.#folder}/tty'; exec ${command}`;
    this.#child = spawn("script", ["-qefc", line, "/dev/null"], {
      env: { ...process.env, TERM: "xterm", NO_COLOR: "", LANG: "C.UTF-8", TZ: "UTC" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.written += text;
      this.#news.emit("more");
    });
    this.ended = once(this.#child, "close").then(([code]) => {
      this.#news.emit("more");
      rmSync(this.#folder, { recursive: true, force: true });
      return code as number | null;
    });
  }

  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  resize(columns: number, rows: number): void {
    const path = join(this.#folder, "tty");
    if (!existsSync(path)) throw new Error("nothing has been drawn yet");
    spawnSync("stty", ["-F", readFileSync(path, "utf8").trim(), "cols", `${columns}`, "rows", `${rows}`]);
  }

  /** The lines of the last whole frame. Every frame is one write that begins at the top left. */
  screen(): string[] {
    const frames = this.written.split("\x1b[H").filter((frame) => frame.includes("\x1b[J"));
    const last = frames.at(-1)?.split("\x1b[J")[0] ?? "";
    return stripVTControlCharacters(last).split(/\r+\n/);
  }

  /** Resolves with the first frame that has all of these, and as many lines as given. */
  async shows(...wanted: readonly (string | RegExp | number)[]): Promise<string[]> {
    for (;;) {
      const lines = this.screen();
      const text = lines.join("\n");
      const has = (one: string | RegExp | number) =>
        typeof one === "number" ? lines.length === one : new RegExp(one).test(text);
      if (wanted.every((one) => (typeof one === "string" ? text.includes(one) : has(one)))) return lines;
      if (this.#child.exitCode !== null) throw new Error(`it ended; its last screen was\n${text}`);
      await once(this.#news, "more");
    }
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }
}
