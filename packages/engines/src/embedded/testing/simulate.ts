// Runs the engine's simulator over seeds, up to the first failure: `simulate.js [FIRST] [COUNT]`.

import { SimulatedEngine } from "./simulation.js";

const [first = "1", count = "100"] = process.argv.slice(2);
let crashes = 0;
for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
  const engine = new SimulatedEngine(seed);
  try {
    await engine.run(6);
  } catch (error) {
    process.stdout.write(`seed ${seed}: ${(error as Error).stack}\n`);
    process.exit(1);
  }
  crashes += engine.crashes;
}
process.stdout.write(`${count} seeds, ${crashes} crashes\n`);
