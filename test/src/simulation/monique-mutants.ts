// Ways to break monique's door and sessions that its peers must notice.

import type { Mutant } from "./mutants.js";

const all: readonly Mutant[] = [
  {
    name: "a controller's lost connection does not lose its worker",
    in: "dialects:MoniqueController.went",
    find: "this.#leave($$$)",
    replace: "undefined",
  },
  {
    name: "a controller gives a worker one task more than it should",
    in: "dialects:MoniqueController.#join",
    find: "slots: $count",
    replace: "slots: $count + 1",
  },
  {
    name: "a question is published before it is committed",
    in: "dialects:MoniqueScheduler.#submit",
    find: 'this.#host.post({ type: "task-submitted", $$$ })',
    replace: "this.#publish(message), $0",
  },
  {
    name: "an answer is published before it is committed",
    in: "dialects:AnswerDesk.#settle",
    find: "this.#host.controller.answered($$$)",
    replace: "$0, this.#host.publish(message)",
  },
  {
    name: "a second answer is published, too",
    in: "dialects:AnswerDesk.#takeUnheld",
    find: 'this.#host.fault("second_answer", $$$)',
    replace: "this.#host.publish(message)",
  },
  {
    name: "an answer whose worker came back over another connection is taken for nobody's",
    in: "dialects:AnswerDesk.take",
    find: "queues.length === 0",
    replace: "true",
  },
  {
    name: "a question that is past its time is handed over",
    in: "dialects:submissionFor",
    find: "({ expiresAt: $time })",
    replace: "{}",
  },
  {
    name: "a question that is refused is not answered",
    in: "dialects:MoniqueScheduler.#submit",
    find: "this.#refuse($$$)",
    replace: "undefined",
  },
  {
    name: "answers of our own are in our form and not in the asker's",
    in: "dialects:openEnvelope",
    find: "form: asked",
    replace: "form",
  },
  {
    name: "a question that was killed before it came is asked all the same",
    in: "dialects:MoniqueScheduler.#question",
    find: "this.#killed.has($$$)",
    replace: "false",
  },
  {
    name: "an answer that came with a cancel is told in its place",
    in: "dialects:AnswerDesk.#framesFor",
    find: "kept !== undefined && $a && $b",
    replace: "kept !== undefined",
  },
];

const late: readonly Mutant[] = [
  {
    name: "a new connection is read before its client can have subscribed",
    in: "server:Channel.#came",
    find: "settleMs === 0",
    replace: "true",
    fromSeed: 150,
  },
  {
    name: "an answer that somebody else heard is taken for told",
    in: "dialects:AnswerDesk.#publish",
    find: "if (own === 0 && others > 0) $then",
    replace: "if (others > 0) return true;",
    fromSeed: 80,
  },
];

export const moniqueMutants: readonly Mutant[] = [
  ...all.map((mutant) => ({ ...mutant, population: "monique" as const })),
  ...late.map((mutant) => ({ ...mutant, population: "latecomers" as const })),
];
