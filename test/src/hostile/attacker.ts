// The process of one attack: `attacker.js NAME SCALE TARGET`. It says when it is done, and then holds what it has opened until
// it is killed.

import { attacks, type Target } from "./attacks.js";

const [name = "", scale = "1", target = "{}"] = process.argv.slice(2);
const attack = attacks[name];
if (attack === undefined) throw new Error(`there is no attack ${name}`);
process.on("uncaughtException", () => {});
const sentBytes = await attack(JSON.parse(target) as Target, Number(scale));
process.stdout.write(`${JSON.stringify({ sentBytes })}\n`);
setInterval(() => {}, 60_000);
