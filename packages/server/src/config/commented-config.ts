// A configuration file in which every setting is explained and commented out, generated from the
// schema and the reference, so that it cannot be out of date. Taking one `#` from every line gives
// the defaults.

import { allSettings, type Setting } from "./reference.js";

const introduction = `## The configuration of Yardmaster. Every setting is shown with its default. To change one, remove
## the first # of its line and of the lines that it is indented under. A setting without a default
## has ## and, in parentheses, what belongs there: remove both # and write a value. \`NAME: false\`
## under \`doors:\` closes a door. To check this file: yardmaster config check FILE
`;
const widthMax = 100;

interface Branch {
  readonly setting?: Setting;
  readonly children: Map<string, Branch>;
}

export function commentedConfig(): string {
  const root: Branch = { children: new Map() };
  for (const setting of allSettings()) graft(root, setting.path.split("."), setting);
  const parts = [...root.children].map(([name, branch]) => linesOf(name, branch, 0, undefined).join("\n"));
  return `${[introduction.trimEnd(), ...parts].join("\n\n")}\n`;
}

function graft(root: Branch, path: readonly string[], setting: Setting): void {
  let here = root;
  path.forEach((step, index) => {
    const isLast = index === path.length - 1;
    const known = here.children.get(step);
    const next = known ?? { children: new Map(), ...(isLast ? { setting } : {}) };
    here.children.set(step, next);
    here = next;
  });
}

/**
 * `exampleFrom` is the depth from which everything is an example: its names are the user's choice,
 * or it has no default. Undefined while lines may be used as they are.
 */
function linesOf(name: string, branch: Branch, depth: number, exampleFrom: number | undefined): string[] {
  const from = exampleFrom ?? (hasDefault(branch) ? undefined : depth);
  const { setting, children } = branch;
  const words = setting ? wrapped(plain(setting.description ?? ""), depth) : [];
  const value = setting ? ` ${shownValue(setting)}` : "";
  return [
    ...words.map((line) => indented(`# ${line}`, depth, from)),
    indented(`${name}:${value}`, depth, from),
    ...[...children].flatMap(([child, inner]) => linesOf(child, inner, depth + 1, from)),
  ];
}

function indented(line: string, depth: number, from: number | undefined): string {
  if (from === undefined) return `#${"  ".repeat(depth)}${line}`;
  const shown = depth === from ? line.replace(/^# /, "") : line;
  return `#${"  ".repeat(from)}# ${"  ".repeat(depth - from)}${shown}`;
}

function hasDefault({ setting, children }: Branch): boolean {
  if (setting?.within !== undefined || setting?.path.split(".").includes("NAME")) return false;
  return setting?.byDefault !== undefined || [...children.values()].some(hasDefault);
}

/** Without a default, what is expected stands in its place. */
function shownValue({ byDefault, expected }: Setting): string {
  return byDefault === undefined ? `(${expected || "any value"})` : JSON.stringify(byDefault);
}

/** Links of the reference lead to other pages of the documentation. */
function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\(([^)]+)\)/g, "$1 (docs/$2)");
}

function wrapped(text: string, depth: number): string[] {
  const width = widthMax - 2 * depth - 4;
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    const line = lines[last] ?? "";
    if (line !== "" && line.length + 1 + word.length > width) lines.push(word);
    else lines[last] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}
