// A browser opens at most six connections to one dispatcher over plain HTTP/1.1, for all its pages
// together. If each page kept one for its stream, the seventh could not even load. So the pages
// share a few slots for streams that stay open, and a page without a slot looks in now and then.

/** The rest is for files, requests, and streams that are open for a moment. */
const slots = 4;

/** A function that gives the slot back. */
export type Release = () => void;

/**
 * Takes a slot, which the browser gives back if the page ends. Undefined if all are taken. Browsers
 * have no locks on a page that came over plain http from another machine: there each page gets one.
 */
export async function takeSlot(): Promise<Release | undefined> {
  const { locks } = navigator;
  if (locks === undefined) return () => undefined;
  for (let slot = 1; slot <= slots; slot++) {
    const release = await takeLock(locks, `yardmaster-stream-${slot}`);
    if (release !== undefined) return release;
  }
  return undefined;
}

function takeLock(locks: LockManager, name: string): Promise<Release | undefined> {
  return new Promise((resolve, reject) => {
    locks
      .request(name, { ifAvailable: true }, (lock) => {
        if (lock !== null) return new Promise<void>((release) => resolve(release));
        resolve(undefined);
        return undefined;
      })
      .catch(reject);
  });
}
