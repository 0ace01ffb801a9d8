// The settings of the Postgres engine and of its cluster, and what must fit together with them.

import * as z from "zod";
import { type Mistake, mismatch } from "./mistakes.js";
import { seconds, settings, wholeNumber, yesOrNo } from "./values.js";

const urlExpected =
  "postgres://USER@HOST:PORT/DATABASE; several servers as HOST:PORT,HOST:PORT; the password in PGPASSWORD or ~/.pgpass";

export const schemaNameExpected =
  "a schema's name: a lower-case letter, then at most 40 letters, digits and underscores";

export const schemaNameForm: RegExp = /^[a-z][a-z0-9_]{0,40}$/;

export const postgresSettings = settings({
  url: z.string({ error: urlExpected }).regex(/^postgres(ql)?:\/\/./, { error: urlExpected }),
  schema: schemaName().prefault("yardmaster"),
  commitSeconds: seconds().prefault(1),
  requireSync: yesOrNo().prefault(true),
});

export type PostgresSettings = z.output<typeof postgresSettings>;

const urlOfDoor = "http://HOST:PORT or https://HOST:PORT";

export const clusterSettings = settings({
  node: nodeName(),
  advertise: z
    .string({ error: urlOfDoor })
    .regex(/^https?:\/\/[^/?#@\s]+\/?$/, { error: urlOfDoor })
    .optional(),
  beatMs: wholeNumber({ from: 10, to: 10_000 }).prefault(100),
  silenceMs: wholeNumber({ from: 100, to: 600_000 }).prefault(600),
});

export type ClusterSettings = z.output<typeof clusterSettings>;

/** An owner that is delayed once or twice is not deposed. */
const beatsInSilence = 4;

function nodeName() {
  const error = "a node's name: 1 to 63 of A-Z a-z 0-9 . _ -, the first a letter or digit";
  return z.string({ error }).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, { error });
}

function schemaName() {
  return z.string({ error: schemaNameExpected }).regex(schemaNameForm, { error: schemaNameExpected });
}

interface Chosen {
  readonly engine: string;
  readonly durability?: string | undefined;
  readonly postgres?: PostgresSettings | undefined;
  readonly cluster?: ClusterSettings | undefined;
}

/** `isAsked`: a flag or a variable names the engine, which may leave parts of a file unused. */
export function postgresMistakes(chosen: Chosen, isAsked: boolean): Mistake[] {
  const { engine, durability, postgres, cluster } = chosen;
  if (engine !== "postgres") {
    const unused = Object.entries({ postgres, cluster }).filter(([, given]) => given && !isAsked);
    const text = `these settings need engine: postgres, and the engine is ${engine}`;
    const needed = mismatch(durability, `another word: the ${engine} engine does not replicate`);
    return [
      ...unused.map(([name]) => ({ path: [name], text })),
      ...(durability === "replicated" && !isAsked ? [{ path: ["durability"], text: needed }] : []),
    ];
  }
  if (postgres === undefined) {
    return [{ path: ["engine"], text: `postgres needs postgres.url: ${urlExpected}` }];
  }
  const mistakes = cluster === undefined ? [] : clusterMistakes(cluster);
  const given = durabilityOf(postgres);
  if (durability === undefined || durability === given) return mistakes;
  const text = mismatch(durability, `${given}, because postgres.requireSync is ${postgres.requireSync}`);
  return [...mistakes, { path: ["durability"], text }];
}

function clusterMistakes({ beatMs, silenceMs }: ClusterSettings): Mistake[] {
  if (silenceMs >= beatsInSilence * beatMs) return [];
  const least = `at least ${beatsInSilence * beatMs}, ${beatsInSilence} times cluster.beatMs`;
  return [{ path: ["cluster", "silenceMs"], text: mismatch(silenceMs, least) }];
}

/** With `requireSync: false` the server may replicate all the same, which the banner then says. */
export function durabilityOf({ requireSync }: PostgresSettings): "replicated" | "fsync" {
  return requireSync ? "replicated" : "fsync";
}
