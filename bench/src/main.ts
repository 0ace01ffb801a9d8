// `npm run bench -- [CASE…] [--json] [--runs N] [--size N]`: runs the named cases, or all of them,
// and prints a table for each. `--size` changes the size of cases that have one.

import { parseArgs } from "node:util";
import { core } from "./core.js";
import { curve } from "./curve.js";
import { durable } from "./durable.js";
import { engine } from "./engine.js";
import { http, rights } from "./http.js";
import { lines } from "./lines.js";
import { monique } from "./monique.js";
import { pingpong, pingpongRights } from "./pingpong.js";
import { postgres } from "./postgres.js";
import { pulse } from "./pulse.js";
import { purge } from "./purge.js";
import { scaler } from "./scaler.js";
import { soak } from "./soak.js";
import { type Case, render } from "./table.js";
import { udp } from "./udp.js";
import { waiting } from "./waiting.js";
import { zmtp } from "./zmtp.js";

const cases: readonly Case[] = [
  core,
  waiting,
  engine,
  zmtp,
  curve,
  pingpong,
  pingpongRights,
  monique,
  scaler,
  udp,
  pulse,
  durable,
  purge,
  postgres,
  http,
  rights,
  lines,
  soak,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, runs: { type: "string", default: "5" }, size: { type: "string" } },
});
// A soak runs only when named, because it takes minutes.
const names =
  positionals.length > 0 ? positionals : cases.filter((each) => each !== soak).map((each) => each.name);
const unknown = names.filter((name) => !cases.some((each) => each.name === name));
if (unknown.length > 0) {
  console.error(
    `no such case: ${unknown.join(", ")}; there are: ${cases.map((each) => each.name).join(", ")}`,
  );
  process.exit(2);
}
const runs = Number(values.runs);
const size = values.size === undefined ? undefined : Number(values.size);
for (const each of cases.filter(({ name }) => names.includes(name))) {
  for (const table of await each.run(runs, size)) {
    console.log(values.json ? JSON.stringify({ case: each.name, runs, ...table }) : `${render(table)}\n`);
  }
}
