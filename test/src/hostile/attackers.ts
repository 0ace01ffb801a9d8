// The processes of the attackers: one per attack, started again for each round.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ServedYard } from "../end-to-end/served-yard.js";
import { urlsOf } from "./load-target.js";

const attackerFile = fileURLToPath(new URL("./attacker.js", import.meta.url));

export interface AttackersOptions {
  readonly attacks: readonly string[];
  readonly scale?: number;
  readonly rounds?: number;
  readonly expires?: string;
  /** As for the `nice` command. Default 19, the lowest priority. */
  readonly nice?: number;
}

export class Attackers {
  /** Resolves when all have sent everything. */
  readonly done: Promise<unknown>;
  readonly #attackers: readonly Attacker[];

  constructor(yard: ServedYard, { attacks, scale = 1, rounds = 1, expires, nice = 19 }: AttackersOptions) {
    const target = JSON.stringify({ urls: urlsOf(yard), doors: yard.doors, expires });
    this.#attackers = attacks.map(
      (name) => new Attacker([name, String(scale), String(nice), target], rounds),
    );
    this.done = Promise.all(this.#attackers.map(({ done }) => done));
  }

  get sentBytes(): number {
    return this.#attackers.reduce((sum, { sentBytes }) => sum + sentBytes, 0);
  }

  kill(): void {
    for (const attacker of this.#attackers) attacker.kill();
  }
}

/** One attack. The next round begins when the last round's process has ended. */
class Attacker {
  sentBytes = 0;
  readonly done: Promise<void>;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;
  #isOver = false;

  constructor(args: readonly string[], rounds: number) {
    this.#args = [attackerFile, ...args];
    this.done = this.#run(rounds);
  }

  kill(): void {
    this.#isOver = true;
    this.#process?.kill("SIGKILL");
  }

  async #run(rounds: number): Promise<void> {
    for (let round = 1; round <= rounds && !this.#isOver; round += 1) {
      await this.#attack();
      if (round < rounds) this.#process?.kill("SIGKILL");
    }
  }

  async #attack(): Promise<void> {
    const attacker = spawn(process.execPath, this.#args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#process = attacker;
    const lines = createInterface({ input: attacker.stdout });
    const [line] = await Promise.race([once(lines, "line"), once(attacker, "exit")]);
    if (typeof line === "string") this.sentBytes += (JSON.parse(line) as { sentBytes: number }).sentBytes;
  }
}
