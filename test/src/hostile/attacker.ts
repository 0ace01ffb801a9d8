// The process of one attack: `attacker.js NAME SCALE NICE TARGET`. It reports when it is done, and
// then keeps its connections open until it is killed. Attackers have the lowest priority unless
// NICE says otherwise. On one machine they would otherwise take the dispatcher's processor time,
// which says nothing about the dispatcher.

import { EventEmitter } from "node:events";
import { setPriority } from "node:os";
import { attacks, type Target } from "./attacks.js";

const [name = "", scale = "1", nice = "19", target = "{}"] = process.argv.slice(2);
const attack = attacks[name];
if (attack === undefined) throw new Error(`there is no attack ${name}`);
setPriority(Number(nice));
EventEmitter.defaultMaxListeners = 0;
process.on("uncaughtException", () => {});
const sentBytes = await attack(JSON.parse(target) as Target, Number(scale));
process.stdout.write(`${JSON.stringify({ sentBytes })}\n`);
setInterval(() => {}, 60_000);
