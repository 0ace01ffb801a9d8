// Ways to break the Postgres engine that its simulator of two dispatchers must notice.

import type { EngineMutant } from "./engine-mutants.js";

export const clusterMutants: readonly EngineMutant[] = [
  {
    name: "a batch that is in the log is done without a confirming write",
    in: "engines:LogTable.#look",
    find: "await this.#confirm(position)",
    replace: "true",
  },
  {
    name: "a batch is done although the server did not wait for its standby",
    in: "engines:LogTable.#insert",
    find: "!isDoubtful",
    replace: "true",
  },
  {
    name: "a claim does not compare",
    in: "engines:claim",
    find: "`text`",
    replace: '$0.split("where")[0]',
  },
  {
    name: "a claim does not compare what the owner has done since",
    in: "engines:Member.#claimIf",
    find: "claim(session, row, $claimant, true)",
    replace: "claim(session, row, $claimant)",
  },
  {
    name: "the claim of an earlier try counts without a confirming write",
    in: "engines:claim",
    find: "await confirm(session, row)",
    replace: "true",
  },
  {
    name: "an append does not compare the owner",
    in: "engines:LogTable.#insert",
    find: "`text`",
    replace: '$0.replace("epoch = $1 and instance = $4 and", "")',
  },
  {
    name: "a deposed owner that knows nothing of it still answers",
    in: "engines:Member.isOwner",
    find: "this.#clock.now() - this.#provenAt <= this.#options.silenceMs",
    replace: "true",
  },
  {
    name: "a standby claims after one beat that did not come",
    in: "engines:Candidacy.saw",
    find: "this.#silentMs >= this.#silenceMs",
    replace: "this.#silentMs > 0",
  },
  {
    name: "the fold row is not moved on, so batches are folded twice",
    in: "engines:Folder.#foldGroup",
    find: "await query({ text, values })",
    replace: "undefined",
  },
  {
    name: "a fold takes batches from memory although the tables lack earlier ones",
    in: "engines:Folder.#foldGroup",
    find: "batches[0]?.number === state.position + 1",
    replace: "batches.length > 0",
  },
  {
    name: "a fold is not one transaction",
    in: "engines:Folder.#foldGroup",
    find: 'this.#session.transaction("begin", $work)',
    replace: "this.#session.use($work)",
  },
  {
    name: "an owner does not notice that the database has gone back",
    in: "engines:LogTable.#look",
    find: "row.epoch < this.#epoch || row.instance !== this.#instance || row.position < this.#safe",
    replace: "false",
  },
  {
    name: "a standby does not notice that the database has gone back",
    in: "engines:Member.#mayClaim",
    find: "position < this.#acknowledged",
    replace: "false",
  },
  {
    name: "nothing proves that the tables stayed the same during a load",
    in: "engines:PostgresEngine.load",
    find: "await this.#commits.patiently($proof)",
    replace: "undefined",
  },
];
