// A config file with line numbers. It is read as YAML, which includes JSON, so one parser serves
// both.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isMap, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { ConfigFault } from "./config-fault.js";

export interface ConfigFile {
  readonly name: string;
  readonly value: unknown;
  /** The line of the setting, or of the nearest enclosing one. */
  lineOf(path: readonly PropertyKey[]): number;
  /** The flag or environment variable that gives this setting, instead of the file. */
  givenBy?(path: readonly PropertyKey[]): string | undefined;
}

const defaultNames = ["yardmaster.yaml", "yardmaster.json"];

/** A file that was named must exist; the default file need not. */
export function readConfigFile(folder: string, name: string | undefined): ConfigFile | undefined {
  if (name !== undefined) return parseConfigFile(name, readText(resolve(folder, name), name, true) ?? "");
  for (const candidate of defaultNames) {
    const text = readText(resolve(folder, candidate), candidate, false);
    if (text !== undefined) return parseConfigFile(candidate, text);
  }
  return undefined;
}

function readText(path: string, name: string, required: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" && !required) return undefined;
    throw new ConfigFault([`${name}: ${readFaults.get(code ?? "") ?? `cannot be read (${code})`}`], {
      cause,
    });
  }
}

const readFaults: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ENOENT: "there is no such file",
    EISDIR: "is a folder, expected a file",
    EACCES: "may not be read by this user",
  }),
);

export function parseConfigFile(name: string, text: string): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [fault] = document.errors;
  if (fault) {
    throw new ConfigFault([`${name}:${lines.linePos(fault.pos[0]).line}: not valid YAML: ${fault.message}`]);
  }
  return {
    name,
    value: document.contents === null ? {} : document.toJS(),
    lineOf: (path) => lines.linePos(offsetOf(document.contents, path)).line,
  };
}

function offsetOf(root: Node | null, path: readonly PropertyKey[]): number {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  for (const step of path) {
    const child = childOf(node, step);
    if (!child) break;
    offset = child.offset ?? offset;
    node = child.node;
  }
  return offset;
}

function childOf(
  node: unknown,
  step: PropertyKey,
): { node: unknown; offset: number | undefined } | undefined {
  if (isSeq<Node>(node)) {
    const item = node.items[Number(step)];
    return item && { node: item, offset: item.range?.[0] };
  }
  if (!isMap<Node & { value?: unknown }, Node>(node)) return undefined;
  const pair = node.items.find(({ key }) => String(key.value) === String(step));
  return pair && { node: pair.value, offset: pair.key.range?.[0] };
}
