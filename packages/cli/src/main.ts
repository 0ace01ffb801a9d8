// The yardmaster command: runs what was asked for and ends with its exit code.

import { namesWord, printNames } from "./completion-names.js";

// Whoever read our output has enough of it: `yardmaster tasks | head -1`.
process.stdout.on("error", (fault: NodeJS.ErrnoException) => {
  if (fault.code !== "EPIPE") throw fault;
  process.exit(0);
});

const args = process.argv.slice(2);
// The commands are not loaded for a shell that completes a name: it waits for every key.
const code =
  args[0] === namesWord ? await printNames(args.slice(1)) : await (await import("./program.js")).run(args);
// A pipe may not have taken all of it yet, and what is not taken when the process exits is lost.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
// Not left to the event loop: after a fault there may still be open doors, and nobody behind them.
process.exit(code);
