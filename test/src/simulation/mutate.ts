// Finds the place of a mutant and changes it there. A place is a declaration and a pattern inside
// it, compared as syntax trees: neither formatting nor the file in which the declaration is
// matters. In a pattern, `$name` stands for any one thing and `$$$` for any further items of a
// list. The replacement may use the names, and `$0` for all that was found.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
// Rolldown is a part of vite, with which the page is built.
import { parseAst } from "rolldown/parseAst";

export interface Change {
  /** The package and the declaration: `core:loseWorkers`, `server:Exchange.#drop`. */
  readonly in: string;
  /** An expression, a statement, or `property: value`, that occurs once in the declaration. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutated {
  /** The path of the compiled file. */
  readonly file: string;
  readonly source: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** The captured text of each name of a pattern. */
type Captured = Map<string, string>;

interface Found {
  readonly node: Node;
  readonly captured: Captured;
}

const packages = fileURLToPath(new URL("../../../packages/", import.meta.url));
/** Properties of nodes that say nothing about what the code does. */
const positions: ReadonlySet<string> = new Set(["start", "end", "range", "loc", "raw", "parent"]);

/** Throws unless there is exactly one such place. */
export function mutate({ in: place, find, replace }: Change): Mutated {
  const [inPackage = "", name = ""] = place.split(":");
  const pattern = patternOf(find);
  const all = sourcesIn(inPackage).flatMap(({ file, source }) =>
    declarationsIn(source, name).flatMap((declaration) =>
      findIn(declaration, pattern, source).map((found) => ({ ...found, file, source })),
    ),
  );
  const [found] = all;
  if (found === undefined || all.length > 1)
    throw new Error(`"${find}" occurs ${all.length} times in ${place}, expected 1`);
  const { file, source, node, captured } = found;
  captured.set("$0", source.slice(node.start, node.end));
  const text = replace.replace(/\$\w+/g, (one) => captured.get(one) ?? one);
  return { file, source: `${source.slice(0, node.start)}${text}${source.slice(node.end)}` };
}

interface Compiled {
  readonly file: string;
  readonly source: string;
}

const compiled = new Map<string, readonly Compiled[]>();

/** The compiled files of a package, whose declarations are those of its sources. */
function sourcesIn(name: string): readonly Compiled[] {
  const dist = `${packages}${name}/dist`;
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const all = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".js") && !file.endsWith(".test.js"))
    .map((file) => ({ file: `${dist}/${file}`, source: readFileSync(`${dist}/${file}`, "utf8") }));
  compiled.set(name, all);
  return all;
}

/** The declarations with this name: a function, a constant, a class, or `Class.member`. */
function declarationsIn(source: string, name: string): Node[] {
  const [first = "", member] = name.split(".");
  if (!source.includes(first)) return [];
  return bodyOf(parseAst(source)).flatMap((statement) => {
    const declared = declaredBy(statement).filter((one) => nameOf(one) === first);
    if (member === undefined) return declared;
    return declared.flatMap((one) => membersOf(one).filter((each) => nameOf(each) === member));
  });
}

function bodyOf(node: unknown): Node[] {
  return (node as { body: Node[] }).body;
}

/** What a statement of a module declares. */
function declaredBy(statement: Node): Node[] {
  const { declaration, declarations } = statement as { declaration?: Node | null; declarations?: Node[] };
  return declarations ?? (declaration ? declaredBy(declaration) : [statement]);
}

function membersOf(declared: Node): Node[] {
  return declared.type === "ClassDeclaration" ? bodyOf((declared as unknown as { body: Node }).body) : [];
}

function nameOf(node: Node): string | undefined {
  const { id, key } = node as { id?: Node | null; key?: Node };
  const named = (id ?? key) as (Node & { readonly name?: string }) | undefined;
  return named?.type === "PrivateIdentifier" ? `#${named.name}` : named?.name;
}

/** The pattern's tree: an expression or a property if it is one, otherwise a statement. */
function patternOf(text: string): Node {
  const [statement, ...others] = parseInMethod(text);
  if (statement === undefined || others.length > 0)
    throw new Error(`"${text}" is not one expression or statement`);
  // A property looks like a statement with a label.
  if (statement.type === "LabeledStatement") {
    const [object] = parseInMethod(`({ ${text} })`).map(expressionOf);
    return (object as unknown as { properties: [Node] }).properties[0];
  }
  return statement.type === "ExpressionStatement" ? expressionOf(statement) : statement;
}

/** Statements of a method, where `this.#name`, `return` and `await` are allowed. */
function parseInMethod(text: string): Node[] {
  const [declared] = bodyOf(parseAst(`class Place { async method() { ${text}\n } }`));
  const [method] = membersOf(declared as Node);
  return bodyOf((method as unknown as { value: { body: Node } }).value.body);
}

function expressionOf(statement: Node): Node {
  return (statement as unknown as { expression: Node }).expression;
}

function findIn(node: Node, pattern: Node, source: string): Found[] {
  const captured: Captured = new Map();
  if (isAlike(pattern, node, source, captured)) return [{ node, captured }];
  return Object.values(node)
    .flat()
    .filter(isNode)
    .flatMap((child) => findIn(child, pattern, source));
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function isAlike(pattern: unknown, value: unknown, source: string, captured: Captured): boolean {
  if (Array.isArray(pattern)) return Array.isArray(value) && areAlike(pattern, value, source, captured);
  if (!isNode(pattern)) return Object.is(pattern, value) || String(pattern) === String(value);
  if (!isNode(value)) return false;
  const wildcard = wildcardOf(pattern);
  if (wildcard !== undefined) {
    captured.set(wildcard, source.slice(value.start, value.end));
    return true;
  }
  return (
    pattern.type === value.type &&
    Object.entries(pattern).every(
      ([name, part]) => positions.has(name) || isAlike(part, value[name as keyof Node], source, captured),
    )
  );
}

/** Lists are alike if their items are, in order; `$$$` stands for any number of them. */
function areAlike(
  [first, ...rest]: readonly unknown[],
  values: readonly unknown[],
  source: string,
  captured: Captured,
): boolean {
  if (first === undefined) return values.length === 0;
  if (isNode(first) && wildcardOf(first) === "$$$")
    return (
      areAlike(rest, values, source, captured) ||
      (values.length > 0 && areAlike([first, ...rest], values.slice(1), source, captured))
    );
  return (
    values.length > 0 &&
    isAlike(first, values[0], source, captured) &&
    areAlike(rest, values.slice(1), source, captured)
  );
}

function wildcardOf(pattern: Node): string | undefined {
  const { name, shorthand, key, expression } = pattern as {
    name?: string;
    shorthand?: boolean;
    key?: Node;
    expression?: Node;
  };
  if (pattern.type === "Identifier" && name?.startsWith("$") === true) return name;
  // `{ $$$ }` in an object, and `$rest;` as a statement.
  if (pattern.type === "Property" && shorthand === true && key !== undefined) return wildcardOf(key);
  if (pattern.type === "ExpressionStatement" && expression !== undefined) return wildcardOf(expression);
  return undefined;
}
