// Keeps the process from ending while the store's thread is in the middle of a transaction: the thread would be stopped
// where it is, and LMDB, when it is cleaned up, would wait for ever for the lock that nobody gives back any more.

/** Places in the shared memory. */
const busy = 0;
const leaving = 1;

/** A transaction that takes longer is stuck itself. */
const waitMsMax = 10_000;

/** What the process and the thread share. */
export function makeExitFlags(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** In the thread: runs a transaction, unless the process is about to end. */
export function runGuarded(flags: Int32Array, work: () => void): void {
  Atomics.store(flags, busy, 1);
  // Until the thread is stopped.
  if (Atomics.load(flags, leaving) === 1) {
    release(flags);
    Atomics.wait(flags, leaving, 1);
  }
  try {
    work();
  } finally {
    release(flags);
  }
}

function release(flags: Int32Array): void {
  Atomics.store(flags, busy, 0);
  Atomics.notify(flags, busy);
}

/** In the process: holds its end up until the transaction under way is over. Returns what undoes this. */
export function holdExit(flags: Int32Array): () => void {
  const hold = () => {
    Atomics.store(flags, leaving, 1);
    Atomics.wait(flags, busy, 1, waitMsMax);
  };
  process.on("exit", hold);
  return () => process.off("exit", hold);
}
