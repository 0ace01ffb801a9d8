// Ways to break monique's door and sessions that its peers must notice.

import type { Mutant } from "./mutants.js";

const controller = "dialects/dist/monique/controller.js";
const scheduler = "dialects/dist/monique/scheduler.js";
const answers = "dialects/dist/monique/answer-desk.js";
const questions = "dialects/dist/monique/questions.js";

const all: readonly Mutant[] = [
  {
    name: "a controller's lost connection does not lose its worker",
    file: controller,
    find: 'this.#leave(worker, reason, "");',
    replace: "",
  },
  {
    name: "a controller gives a worker one task more than it should",
    file: controller,
    find: "slots: this.#options.prefetch",
    replace: "slots: this.#options.prefetch + 1",
  },
  {
    name: "a question is published before it is committed",
    file: scheduler,
    find: 'this.#host.post({ type: "task-submitted"',
    replace: 'this.#publish(message); this.#host.post({ type: "task-submitted"',
  },
  {
    name: "an answer is published before it is committed",
    file: answers,
    find: "this.#host.controller.answered(hold, message.header.creator);",
    replace: "this.#host.controller.answered(hold, message.header.creator); this.#host.publish(message);",
  },
  {
    name: "a second answer is published, too",
    file: answers,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the compiled text.
    find: 'this.#host.fault("second_answer", header.creator, `from ${sender.address}`);',
    replace: "this.#host.publish(message);",
  },
  {
    name: "an answer whose worker came back over another connection is taken for nobody's",
    file: answers,
    find: "if (queues.length === 0)",
    replace: "if (true)",
  },
  {
    name: "a question that is past its time is handed over",
    file: questions,
    find: "...(expiresAt === 0 ? {} : { expiresAt: expiresAt }),",
    replace: "",
  },
  {
    name: "a question that is refused is not answered",
    file: scheduler,
    find: "this.#refuse(message, answer.message);",
    replace: "",
  },
  {
    name: "answers of our own are in our form and not in the asker's",
    file: questions,
    find: "return { form: asked,",
    replace: "return { form,",
  },
  {
    name: "a question that was killed before it came is asked all the same",
    file: scheduler,
    find: "if (this.#killed.has(header.id)) {",
    replace: "if (false) {",
  },
  {
    name: "an answer that came with a cancel is told in its place",
    file: answers,
    find: 'if (kept !== undefined && isKept && (outcome.state === "done" || outcome.state === "failed")) {',
    replace: "if (kept !== undefined) {",
  },
];

const late: readonly Mutant[] = [
  {
    name: "a new connection is read before its client can have subscribed",
    file: "server/dist/monique/channel.js",
    find: "if (settleMs === 0 ||",
    replace: "if (true ||",
    fromSeed: 150,
  },
  {
    name: "an answer that somebody else heard is taken for told",
    file: answers,
    find: "if (own === 0 && others > 0)",
    replace: "if (others > 0) return true; if (false)",
    fromSeed: 80,
  },
];

export const moniqueMutants: readonly Mutant[] = [
  ...all.map((mutant) => ({ ...mutant, population: "monique" as const })),
  ...late.map((mutant) => ({ ...mutant, population: "latecomers" as const })),
];
