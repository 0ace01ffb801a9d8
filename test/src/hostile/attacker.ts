// The process of one attack: `attacker.js NAME SCALE TARGET`. It says when it is done, and then holds what it has opened until
// it is killed.

import { EventEmitter } from "node:events";
import { attacks, type Target } from "./attacks.js";

const [name = "", scale = "1", target = "{}"] = process.argv.slice(2);
const attack = attacks[name];
if (attack === undefined) throw new Error(`there is no attack ${name}`);
EventEmitter.defaultMaxListeners = 0;
process.on("uncaughtException", () => {});
const sentBytes = await attack(JSON.parse(target) as Target, Number(scale));
process.stdout.write(`${JSON.stringify({ sentBytes })}\n`);
setInterval(() => {}, 60_000);
