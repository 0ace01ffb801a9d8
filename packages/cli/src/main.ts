// The yardmaster command: runs what was asked for and ends with its exit code.

import { run } from "./program.js";

// Whoever read our output has enough of it: `yardmaster tasks | head -1`.
process.stdout.on("error", (fault: NodeJS.ErrnoException) => {
  if (fault.code !== "EPIPE") throw fault;
  process.exit(0);
});

// Not left to the event loop: after a fault there may still be open doors, and nobody behind them.
process.exit(await run(process.argv.slice(2)));
