// The nesting depth of a JSON value. Parsing does not recurse but writing does, so a peer's value
// that is to be written again must not be deeper than the stack allows.

/** True if more than `levels` arrays and objects are nested. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value)
    if (isNestedDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
