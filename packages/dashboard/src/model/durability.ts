// What an accepted task survives, in words. The page must not say "on disk" of a task that is only
// in memory.

export type Durability = "fsync" | "memory" | "replicated";

/** Goes on after "Submitted by http, ". Empty if the dispatcher does not say. */
export function keptWords(durability: Durability | undefined): string {
  switch (durability) {
    case "fsync":
      return "safe on disk";
    case "replicated":
      return "safe in the database";
    case "memory":
      return "kept in memory only";
    default:
      return "accepted";
  }
}

/** A sentence for the first visit. */
export function keptSentence(durability: Durability | undefined): string {
  switch (durability) {
    case "fsync":
      return "A task is on disk before it is acknowledged.";
    case "replicated":
      return "A task is in the database before it is acknowledged.";
    case "memory":
      return "Tasks are kept in memory only: they are lost when the dispatcher stops.";
    default:
      return "";
  }
}
