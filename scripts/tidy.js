// Keeps the shape of the tree: who may import whom, what pure packages must not touch, and how long a file may get.
// Run by `npm test`. Each complaint is a line `file:line  what is wrong`; any complaint fails the run.
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
const pure = new Set(["core", "dialects"]);
// What a sans-I/O package may take from Node: bytes and hashes are no I/O.
const pureNodeModules = new Set(["node:buffer", "node:crypto"]);
const impure = [
  [/\bDate\.now\b|\bnew Date\(\)/, "reads the clock; take time as an argument"],
  [/\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/, "draws randomness; take it as an argument"],
  [/\bperformance\b|\bprocess\./, "touches the process"],
  [/\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/, "uses a timer; return a deadline"],
  [/\basync\b|\bawait\b|\bPromise\b/, "uses promises; return what to do"],
];
const linesMax = 400;

const complaints = [];
const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "packages", "test", "bench"], {
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => /\.tsx?$/.test(file) && existsSync(file));

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
  code.split("\n").forEach((line, index) => {
    checkImport(file, index + 1, line, packageName, isTest);
    if (packageName && pure.has(packageName) && !isTest) checkPure(file, index + 1, line);
  });
}

function checkImport(file, number, line, packageName, isTest) {
  const target = /(?:from|import)\s*\(?\s*"([^"]+)"/.exec(line)?.[1];
  if (!target || !packageName) return;
  const sibling = /^@yardmaster\/([^/]+)(\/.*)?$/.exec(target);
  if (sibling) {
    if (sibling[2]) complain(file, number, `deep import of ${target}; a package has one door, its index`);
    const allowed = mayImport[packageName] ?? [];
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

function checkInside(file, number, target) {
  const root = file.split("/").slice(0, 2).join("/");
  const resolved = new URL(target, `file:///${file}`).pathname.slice(1);
  if (!resolved.startsWith(`${root}/`)) complain(file, number, `leaves its package: ${target}`);
}

// An object answers to "constructor" and "toString", too, so a table that is asked by strings is a Map, or inherits nothing.
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
