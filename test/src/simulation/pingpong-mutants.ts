// Ways to break pingpong's door and sessions that its peers must notice. What only the dispatcher's own records would show
// is not here.

import type { Mutant } from "./mutants.js";

const doorWorker = "dialects/dist/pingpong/door-worker-session.js";
const door = "server/dist/doors/pingpong.js";

export const pingpongMutants: readonly Mutant[] = [
  {
    name: "READY from a busy worker does not give its job back",
    file: doorWorker,
    find: 'this.leave("restarted");',
    replace: ";",
  },
  {
    name: "a PING that crossed a job frees the worker",
    file: doorWorker,
    find: "this.#host.send(pong);\n        if (!this.#isKnown)",
    replace:
      'this.#host.send(pong); if (this.#job !== undefined) this.leave("restarted");\n        if (!this.#isKnown)',
  },
  {
    name: "a result that came before any job is taken for the next one's",
    file: doorWorker,
    find: "this.#refuse(client);",
    replace:
      "const assign = this.assign.bind(this); this.assign = (effect) => { delete this.assign; assign(effect); this.finish(result); };",
  },
  {
    name: "a worker says READY with an old job in hand, and answers with that",
    file: "dialects/dist/pingpong/worker-session.js",
    find: "this.#isOrphaned = this.#isBusy;",
    replace: "if (this.#isBusy) this.#ready(now);",
  },
  {
    name: "in program form READY at work is a restart",
    file: doorWorker,
    find: "if (this.#job !== undefined && this.#isProgram) {",
    replace: "if (false) {",
    population: "market",
  },
  {
    name: "in program form an answer that names another job is taken for that of the job that is out",
    file: doorWorker,
    find: "return !this.#isProgram ||",
    replace: "return true ||",
    population: "market",
  },
  {
    name: "in program form all jobs of a worker have one name",
    file: doorWorker,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the compiled text.
    find: ".${attempt.toString(36)}`",
    replace: "`",
    population: "market",
  },
  {
    name: "a lost connection does not lose the worker",
    file: door,
    find: 'worker.session.leave(wasSilent ? "silence" : "connection_closed");',
    replace: "",
  },
  {
    name: "the answer to a client that is gone goes to another",
    file: door,
    find: 'const peer = this.#clientsByAddress.get(task.replyTo?.address ?? "");',
    replace:
      'const peer = this.#clientsByAddress.get(task.replyTo?.address ?? "") ?? [...this.#clientsByAddress.values()][0];',
  },
  {
    name: "an answer that does not say what it is follows the client's name",
    file: door,
    find: "reading.message.correlation.length > 0 ? replyTos.anywhere : replyTos.here",
    replace: "replyTos.anywhere",
  },
  {
    name: "a name that was made up is taken for the client's own",
    file: door,
    find: "return identity[0] !== 0;",
    replace: "return true;",
  },
  {
    name: "a client's names begin anew with it",
    file: "dialects/dist/pingpong/client-session.js",
    find: "this.#life + this.#last",
    replace: "this.#last",
  },
  {
    name: "a refusal is dropped when its client is behind",
    file: door,
    find: "this.#owed.set(peer, [refusal]);",
    replace: "",
  },
  {
    name: "a client that is not read is not read again",
    file: door,
    find: "this.#clients.resume(peer);",
    replace: "",
  },
];
