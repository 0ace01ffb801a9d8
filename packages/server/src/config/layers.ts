// What the command line and environment variables say, laid over the configuration file. A flag
// takes precedence over a variable, and a variable over the file. The schema then checks the
// result, whatever its origin.

import { readFileSync } from "node:fs";
import { ConfigFault } from "./config-fault.js";
import type { ConfigFile } from "./config-file.js";

export interface Layers {
  /** From `--data` and `--engine`. */
  readonly data?: string | undefined;
  readonly engine?: string | undefined;
  /** The environment; without it no variable applies. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Variables for what a container or a service manager decides. */
const variablePaths = {
  YARD_DATA: ["data"],
  YARD_ENGINE: ["engine"],
  YARD_HTTP_LISTEN: ["doors", "http", "listen"],
  YARD_HTTP_TOKEN_FILE: ["doors", "http", "token"],
  YARD_POSTGRES_URL: ["postgres", "url"],
  YARD_CLUSTER_NODE: ["cluster", "node"],
  YARD_CLUSTER_ADVERTISE: ["cluster", "advertise"],
} as const;

export const variableNames = Object.keys(variablePaths) as (keyof typeof variablePaths)[];

interface Given {
  readonly path: readonly string[];
  readonly value: string;
  /** The flag or the variable. */
  readonly by: string;
}

export function withLayers(file: ConfigFile, layers: Layers): ConfigFile {
  const given = [...givenByVariables(layers.variables ?? {}), ...givenByFlags(layers)];
  return {
    ...file,
    value: given.reduce((value, { path, value: word }) => withValueAt(value, path, word), file.value),
    // The last one wins, as it does in the value. A section that the file lacks is from here, too.
    givenBy: (path) =>
      given.findLast(
        (each) =>
          isSamePath(each.path, path) ||
          (isSamePath(each.path.slice(0, path.length), path) && !hasSection(file.value, path)),
      )?.by,
  };
}

/** An empty variable is one that is not set: a container cannot remove a variable of its image. */
function givenByVariables(variables: NonNullable<Layers["variables"]>): Given[] {
  return variableNames.flatMap((by) => {
    const word = variables[by];
    if (word === undefined || word === "") return [];
    return [{ path: variablePaths[by], value: by.endsWith("_FILE") ? secretIn(word, by) : word, by }];
  });
}

function givenByFlags({ data, engine }: Layers): Given[] {
  return [
    ...(data === undefined ? [] : [{ path: ["data"], value: data, by: "--data" }]),
    ...(engine === undefined ? [] : [{ path: ["engine"], value: engine, by: "--engine" }]),
  ];
}

function secretIn(path: string, by: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigFault([`${by}: ${path} cannot be read (${code})`], { cause });
  }
}

/** A closed door (`false`) on the way is opened, because the layer above says how. */
function withValueAt(value: unknown, path: readonly string[], word: string): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return word;
  // A file that is not a mapping is a mistake, which the schema reports.
  if (value !== false && value !== undefined && !isMapping(value)) return value;
  const mapping = isMapping(value) ? value : {};
  return { ...mapping, [first]: withValueAt(mapping[first], rest, word) };
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasSection(value: unknown, [first, ...rest]: readonly PropertyKey[]): boolean {
  if (first === undefined) return true;
  return isMapping(value) && Object.hasOwn(value, first) && hasSection(value[String(first)], rest);
}

function isSamePath(one: readonly string[], other: readonly PropertyKey[]): boolean {
  return one.length === other.length && one.every((step, index) => step === other[index]);
}
