// Loads one compiled file changed, as the mutant named in YARD_MUTANT has it: `node --import …/mutate.js …`.

import type { LoadHook } from "node:module";
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";
import { mutants } from "./mutants.js";

const mutant = mutants.find(({ name }) => name === process.env.YARD_MUTANT);
if (mutant === undefined) throw new Error(`there is no mutant "${process.env.YARD_MUTANT}"`);

// This file is both: what registers the hook, and, on the loader's own thread, the hook.
if (isMainThread) register(import.meta.url);

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (!url.endsWith(mutant.file)) return loaded;
  const source = String(loaded.source);
  if (source.split(mutant.find).length !== 2) {
    throw new Error(`mutant "${mutant.name}": its place is not (or not only once) in ${mutant.file}`);
  }
  return { ...loaded, source: source.replace(mutant.find, () => mutant.replace) };
};
