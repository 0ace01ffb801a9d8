// The parameters with which a list of queues or workers is read in part.

import * as z from "zod";
import { integer, printable } from "./parameters.js";

/** Part of a list of queues or workers; without parameters, all of it. */
export const partQuery = z.strictObject({
  q: printable({ to: 256 })
    .meta({ description: "Part of a name, of an address or of a queue's name, in any case." })
    .optional(),
  limit: integer({ from: 1, to: 100_000 }).optional(),
});

/** True if one of the texts contains the words. */
export function hasWords(words: string | undefined, texts: readonly string[]): boolean {
  if (words === undefined) return true;
  const sought = words.toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(sought));
}
