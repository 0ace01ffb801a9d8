// The settings in force and where each comes from: a flag, an environment variable, a line of the
// file, or the default.

import { type ConfigSources, configFileOf, loadConfig } from "../config.js";
import type { ConfigFile } from "./config-file.js";
import { isMapping } from "./layers.js";
import { isSecret } from "./mistakes.js";
import { allSettings } from "./reference.js";

export interface SettingInForce {
  readonly path: string;
  readonly value: unknown;
  /** `--data`, `YARD_DATA`, `yardmaster.yaml:3` or `default`. */
  readonly origin: string;
}

type Path = readonly string[];

/** Throws a ConfigFault that lists every mistake. */
export function configInForce(sources: ConfigSources): SettingInForce[] {
  const file = configFileOf(sources);
  const config = loadConfig(sources);
  // Their defaults depend on other settings, so the schema does not have them.
  const computed = new Map<string, unknown>([
    ["engine", config.engine],
    ["durability", config.durability],
  ]);
  const fixed = allSettings().filter(({ path }) => !path.split(".").includes("NAME"));
  const known = new Set(fixed.map(({ path }) => path));
  const given = new Map(leavesOf(file.value, [], known).map((leaf) => [leaf.path.join("."), leaf]));
  const inForce: SettingInForce[] = [];
  for (const { path, byDefault, within } of fixed) {
    const leaf = given.get(path);
    given.delete(path);
    const value = computed.get(path) ?? byDefault;
    const applies = !isClosed(path, given) && (within === undefined || isThere(file.value, within));
    if (leaf) inForce.push(shown(file, leaf));
    else if (value !== undefined && applies) inForce.push({ path, value, origin: "default" });
  }
  return [...inForce, ...[...given.values()].map((leaf) => shown(file, leaf))];
}

interface Leaf {
  readonly path: Path;
  readonly value: unknown;
}

/** A value of the file: not a mapping, unless a setting has the mapping as its value. */
function leavesOf(value: unknown, path: Path, known: ReadonlySet<string>): Leaf[] {
  if (!isMapping(value) || (known.has(path.join(".")) && Object.keys(value).length === 0)) {
    return [{ path, value }];
  }
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name], known));
}

/** The settings of a closed door are not in force. */
function isClosed(path: string, given: ReadonlyMap<string, Leaf>): boolean {
  const [section, door] = path.split(".");
  return section === "doors" && given.get(`doors.${door}`)?.value === false;
}

function isThere(value: unknown, path: string): boolean {
  let here = value;
  for (const step of path.split(".")) here = isMapping(here) ? here[step] : undefined;
  return isMapping(here);
}

function shown(file: ConfigFile, { path, value }: Leaf): SettingInForce {
  return {
    path: path.join("."),
    value: isSecret(path) ? "(secret)" : value,
    origin: file.givenBy?.(path) ?? `${file.name}:${file.lineOf(path)}`,
  };
}
