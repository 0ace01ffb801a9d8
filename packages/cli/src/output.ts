// Standard output that can no longer be written: its reader has gone, as in `yardmaster tasks |
// head -1`, or the disk behind it is full.

type End = (code: number, why: string) => void;

/** Most commands have nothing to finish. */
let end: End = (code) => process.exit(code);
let hasEnded = false;

/** A command that has something to finish first ends by itself, with this code. */
export function endOutputWith(ending: End): void {
  end = ending;
}

export function hearOutput(): void {
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    // Each further write fails, too.
    if (hasEnded) return;
    hasEnded = true;
    if (code === "EPIPE") return end(0, "standard output is closed");
    process.stderr.write(`yardmaster: standard output cannot be written: ${message}\n`);
    end(1, "standard output cannot be written");
  });
  // There is nowhere left to say it, and the command's work does not depend on it.
  process.stderr.on("error", () => {});
}
