// Loads the program with the mutant named in YARD_MUTANT: `node --import …/load-mutant.js …`.

import type { LoadHook } from "node:module";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { clusterMutants } from "./cluster-mutants.js";
import { engineMutants } from "./engine-mutants.js";
import { mutants } from "./mutants.js";
import { mutate } from "./mutate.js";

const all = [...mutants, ...engineMutants, ...clusterMutants];
const mutant = all.find(({ name }) => name === process.env.YARD_MUTANT);
if (mutant === undefined) throw new Error(`there is no mutant "${process.env.YARD_MUTANT}"`);

// This file has two roles: it registers the hook and, on the loader's thread, it is the hook.
const changed = isMainThread ? undefined : mutate(mutant);
if (isMainThread) register(import.meta.url);

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const isMutant = changed !== undefined && url === pathToFileURL(changed.file).href;
  return isMutant ? { ...loaded, source: changed.source } : loaded;
};
