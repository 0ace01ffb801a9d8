// What the reader of the page may do, as `/v1/me` says it.

export type Right = "submit" | "work" | "read" | "operate" | "watch";

/** Patterns of queue names, by right. `*` stands for any characters. */
export type Rights = Readonly<Record<Right, readonly string[]>>;

/** Without a queue: true if the right holds for some queue. */
export function allows(rights: Rights, right: Right, queue?: string): boolean {
  const patterns = rights[right];
  return queue === undefined ? patterns.length > 0 : patterns.some((pattern) => matches(pattern, queue));
}

function matches(pattern: string, queue: string): boolean {
  const parts = pattern.split(/\*+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(queue);
}
