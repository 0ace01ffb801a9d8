// Checks the rules that a compiler does not: which package may import which, what pure packages
// must not touch, how long a file may get, and the prose of comments and Markdown (words, width).
// Run by `npm test`. A complaint is a line `file:line  what is wrong`; any complaint fails the run.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const mayImport = {
  core: [],
  zmtp: [],
  dialects: ["core"],
  engines: ["core"],
  sdk: ["dialects", "zmtp"],
  server: ["core", "zmtp", "dialects", "engines"],
  cli: ["sdk", "server"],
  dashboard: [],
};
// Types alone are erased: nothing of these packages is in what is built.
const mayImportTypes = { dashboard: ["sdk"] };
const pure = new Set(["core", "dialects"]);
// Node modules that a sans-I/O package may import: bytes and hashes do no I/O.
const pureNodeModules = new Set(["node:buffer", "node:crypto"]);
const impure = [
  [/\bDate\.now\b|\bnew Date\(\)/, "reads the clock; take time as an argument"],
  [/\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/, "draws randomness; take it as an argument"],
  [/\bperformance\b|\bprocess\./, "touches the process"],
  [/\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/, "uses a timer; return a deadline"],
  [/\basync\b|\bawait\b|\bPromise\b/, "uses promises; return what to do"],
];
const linesMax = 400;

// Words that make a reader guess who or how much is meant (see CONTRIBUTING.md, "Prose").
const vague = [
  [/\bso many\b/i, 'say which number is meant ("the maximum count")'],
  [/\bso long\b(?! as\b)/i, 'say which time is meant ("the maximum age")'],
  [/\bso[- ]manieth\b/i, 'say "the n-th"'],
  [/\bwho(?:so)?ever\b|\bwhomever\b/i, 'name the party ("the first worker to answer")'],
  [/\b(?:somebody|anybody)\b/i, "name the party: a client, a worker, an operator"],
  [/\bhand(?:s|ed|ing)? in\b/i, 'say "submit"'],
  [/\baskers?\b/i, 'say "client"'],
  [/\b(?:let|lets|letting) go\b/i, 'say "evict", "free" or "drop"'],
];
// Where such a word is right: these phrases are ignored in these files, by path.
const allowedPhrases = new Map([]);
const proseWidthMax = 100;

const complaints = [];
const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { encoding: "utf8" })
  .split("\n")
  .filter((file) => existsSync(file));
const files = tracked.filter((file) => /^(?:packages|test|bench)\/.*\.tsx?$/.test(file));

for (const file of files) {
  const packageName = /^packages\/([^/]+)\//.exec(file)?.[1];
  const isTest = /\.test\.tsx?$/.test(file) || /\/conformance\.ts$/.test(file);
  const source = readFileSync(file, "utf8");
  const lines = source.split("\n");
  if (packageName && !isTest && lines.length > linesMax) {
    complain(file, 1, `${lines.length} lines; look for the second noun (at most ${linesMax})`);
  }
  const code = withoutComments(source);
  if (!isTest) checkTables(file, code);
  const codeLines = code.split("\n");
  codeLines.forEach((line, index) => {
    const allowedTypes = isTypeOnly(codeLines, index) ? (mayImportTypes[packageName] ?? []) : [];
    checkImport(file, index + 1, line, packageName, isTest, allowedTypes);
    if (packageName && pure.has(packageName) && !isTest) checkPure(file, index + 1, line);
  });
}

const proseFiles = tracked.filter((file) => /\.(?:tsx?|m?js|md)$/.test(file));
for (const file of proseFiles) checkProse(file);

function checkImport(file, number, line, packageName, isTest, allowedTypes) {
  const target = /(?:from|import)\s*\(?\s*"([^"]+)"/.exec(line)?.[1];
  if (!target || !packageName) return;
  const sibling = /^@yardmaster\/([^/]+)(\/.*)?$/.exec(target);
  if (sibling) {
    if (sibling[2]) complain(file, number, `deep import of ${target}; a package has one door, its index`);
    const allowed = [...(mayImport[packageName] ?? []), ...allowedTypes];
    if (!allowed.includes(sibling[1])) complain(file, number, `${packageName} may not import ${sibling[1]}`);
  }
  if (target.startsWith("../")) checkInside(file, number, target);
  if (pure.has(packageName) && !isTest && !target.startsWith(".") && !sibling) {
    const isNode = target.startsWith("node:");
    if (packageName === "core" || (isNode && !pureNodeModules.has(target))) {
      complain(file, number, `${packageName} is pure and may not import ${target}`);
    }
  }
  if (/^packages\/server\/src\/doors\//.test(file) && /^\.\/(?!kit)/.test(target) && !isTest) {
    complain(file, number, "doors never import each other; what two need goes into door-kit");
  }
}

/** True when the statement that this line ends begins with `import type` or `export type`. */
function isTypeOnly(lines, index) {
  const start = lines.slice(0, index + 1).findLast((line) => /^(?:import|export)\b/.test(line)) ?? "";
  return /^(?:import|export) type\b/.test(start);
}

function checkInside(file, number, target) {
  const root = file.split("/").slice(0, 2).join("/");
  const resolved = new URL(target, `file:///${file}`).pathname.slice(1);
  if (!resolved.startsWith(`${root}/`)) complain(file, number, `leaves its package: ${target}`);
}

// An ordinary object also has the keys "constructor" and "toString". So a table that is looked up
// by strings must be a Map, or inherit nothing.
function checkTables(file, code) {
  for (const [, name] of code.matchAll(/\bconst (\w+): Readonly<Record<string,/g)) {
    if (code.includes(`Object.setPrototypeOf(${name}, null)`)) continue;
    const lookup = new RegExp(`(?<![\\w.])${name}\\[(?!")`).exec(code);
    if (!lookup) continue;
    const number = code.slice(0, lookup.index).split("\n").length;
    complain(
      file,
      number,
      `looks up a string in ${name}, which inherits from Object.prototype; make it a Map`,
    );
  }
}

function checkPure(file, number, line) {
  for (const [pattern, what] of impure) if (pattern.test(line)) complain(file, number, what);
}

function checkProse(file) {
  const source = readFileSync(file, "utf8");
  const prose = file.endsWith(".md") ? markdownProse(source) : commentProse(source);
  const phrases = allowedPhrases.get(file) ?? [];
  prose.forEach(({ number, text, width }, index) => {
    if (width > proseWidthMax) complain(file, number, `${width} columns wide; wrap at ${proseWidthMax}`);
    const next = prose[index + 1];
    const spill = next?.number === number + 1 ? ` ${firstWord(next.text)}` : "";
    const checked = phrases.reduce((rest, phrase) => rest.replaceAll(phrase, ""), text + spill);
    const end = checked.length - spill.length;
    for (const [pattern, advice] of vague) {
      const found = pattern.exec(checked);
      if (found && found.index < end) complain(file, number, `"${found[0]}": ${advice}`);
    }
  });
}

// A phrase may be wrapped over two lines, so each line is checked with the first word of the next.
function firstWord(text) {
  return /[\w-]+/.exec(text)?.[0] ?? "";
}

// Paragraphs and table rows without their code. Rows, links and headings cannot be wrapped.
function markdownProse(source) {
  const prose = [];
  let fence = false;
  source.split("\n").forEach((line, index) => {
    const isFence = /^\s*```/.test(line);
    if (isFence) fence = !fence;
    if (fence || isFence) return;
    const canWrap = !/^\s*(?:\||#|<!--)/.test(line) && !isOneWord(line);
    prose.push({ number: index + 1, text: line.replace(/`[^`]*`/g, ""), width: canWrap ? line.length : 0 });
  });
  return prose;
}

// The text of comments. A line that the formatter cannot break, such as a URL, may be wider.
function commentProse(source) {
  const prose = [];
  let inBlock = false;
  source.split("\n").forEach((line, index) => {
    const start = inBlock ? 0 : line.search(/(?:^|[\s{(])(?:\/\/(?=\s|$)|\/\*)/);
    if (start < 0) return;
    const text = line.slice(start);
    if (inBlock || /^\s*[{(]?\/\*/.test(text)) inBlock = !text.includes("*/");
    if (/biome-ignore/.test(text)) return;
    prose.push({ number: index + 1, text, width: isOneWord(line) ? 0 : line.length });
  });
  return prose;
}

/** True when the line is a single word, such as a URL, so that wrapping cannot help. */
function isOneWord(line) {
  return !/\s/.test(line.trim().replace(/^(?:\/\/|\*|[-*]|\d+\.)\s+/, ""));
}

// Comments and strings may name what code may not do. Line numbers are kept.
function withoutComments(source) {
  return source
    .replace(/\/\*[\s\S]*?\*\//g, (text) => text.replace(/[^\n]/g, " "))
    .replace(/(^|[^:"'`])\/\/.*$/gm, "$1");
}

function complain(file, number, what) {
  complaints.push(`${file}:${number}  ${what}`);
}

for (const complaint of complaints) console.error(complaint);
if (complaints.length > 0) process.exit(1);
console.log(`tidy: ${files.length} files keep the rules`);
