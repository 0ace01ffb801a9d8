// How deep a value of JSON is nested. It is read without recursion and written with it, so a value from a peer that is to
// be written again must not be deeper than the stack allows.

/** True when there are more than this many arrays and objects inside each other. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value)
    if (isNestedDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
