// Delays the end of the process while the store's thread is inside a transaction. Otherwise the
// thread would be stopped there, and LMDB's cleanup would wait forever for the transaction's lock.

/** Indexes into the shared flags. */
const busy = 0;
const leaving = 1;

/** A transaction that takes longer is stuck. */
const waitMsMax = 10_000;

/** The flags that the process and the thread share. */
export function makeExitFlags(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** Called in the thread: runs a transaction, unless the process is about to end. */
export function runGuarded(flags: Int32Array, work: () => void): void {
  Atomics.store(flags, busy, 1);
  // Wait here until the thread is stopped.
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

/**
 * Called in the process: from now on its end waits for a transaction under way. Returns a function
 * that undoes this.
 */
export function holdExit(flags: Int32Array): () => void {
  const hold = () => {
    Atomics.store(flags, leaving, 1);
    Atomics.wait(flags, busy, 1, waitMsMax);
  };
  process.on("exit", hold);
  return () => process.off("exit", hold);
}
