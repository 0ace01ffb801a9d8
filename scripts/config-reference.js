// Writes the configuration reference into docs/operations.md, between its two marks: `npm run
// config-reference`. A test compares the two, so that a setting cannot be added without it.
import { readFileSync, writeFileSync } from "node:fs";
import { configReference } from "../packages/server/dist/config/reference.js";

const page = new URL("../docs/operations.md", import.meta.url);
const [begin, end] = ["<!-- settings -->\n", "\n<!-- end of settings -->"];
const text = readFileSync(page, "utf8");
const from = text.indexOf(begin);
const to = text.indexOf(end);
if (from < 0 || to < from) throw new Error("docs/operations.md has lost its marks");
writeFileSync(page, text.slice(0, from + begin.length) + configReference() + text.slice(to));
