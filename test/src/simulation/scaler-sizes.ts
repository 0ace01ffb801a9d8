// Sizes of simulated scaler objects. Some are so large that the door keeps them only in the engine.

/**
 * Larger objects are kept in the engine. It is above the limit for objects that are kept as one
 * string.
 */
export const storedFromBytes = 1_100;
export const largeBytes = 1_500;

/** Derived from the id of a client or a task, so that it draws no random number. */
export function isLarge(id: Buffer): boolean {
  return (id.at(-1) ?? 0) % 2 === 1;
}
