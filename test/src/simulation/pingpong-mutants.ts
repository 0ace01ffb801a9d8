// Ways to break pingpong's door and sessions that its peers must notice. Defects that only the
// dispatcher's own records would show are not included.

import type { Mutant } from "./mutants.js";

export const pingpongMutants: readonly Mutant[] = [
  {
    name: "READY from a busy worker does not give its job back",
    in: "dialects:PingpongDoorWorker.#isReady",
    find: "this.leave($$$)",
    replace: "undefined",
  },
  {
    name: "a PING that crossed a job frees the worker",
    in: "dialects:PingpongDoorWorker.#pinged",
    find: "this.#host.send(pong)",
    replace: '$0, this.#job !== undefined && this.leave("restarted")',
  },
  {
    name: "a result that came before any job is taken for the next one's",
    in: "dialects:PingpongDoorWorker.finish",
    find: "this.#refuse(client)",
    replace:
      "(() => { const assign = this.assign.bind(this); this.assign = (effect) => { delete this.assign; assign(effect); this.finish(result); }; })()",
  },
  {
    name: "a worker says READY with an old job in hand, and answers with that",
    in: "dialects:PingpongWorkerSession.connected",
    find: "this.#isOrphaned = this.#isBusy",
    replace: "this.#isBusy && this.#ready(now)",
  },
  {
    name: "in program form READY at work is a restart",
    in: "dialects:PingpongDoorWorker.#isReady",
    find: "this.#job !== undefined && this.#isProgram",
    replace: "false",
    population: "market",
  },
  {
    name: "in program form an answer that names another job is taken for that of the job that is out",
    in: "dialects:PingpongDoorWorker.#isAbout",
    find: "!this.#isProgram",
    replace: "true",
    population: "market",
  },
  {
    name: "in program form all jobs of a worker have one name",
    in: "dialects:PingpongDoorWorker.#nameOf",
    find: "attempt.toString(36)",
    replace: '""',
    population: "market",
  },
  {
    name: "a lost connection does not lose the worker",
    in: "dialects:PingpongDoorWorkers.went",
    find: "worker.session.leave($$$)",
    replace: "undefined",
  },
  {
    name: "the answer to a client that is gone goes to another",
    in: "dialects:PingpongDoorClients.tell",
    find: "this.#byAddress.get($$$)",
    replace: "$0 ?? [...this.#byAddress.values()][0]",
  },
  {
    name: "an answer that does not say what it is follows the client's name",
    in: "dialects:PingpongDoorClients.receive",
    find: "$named ? replyTos.anywhere : replyTos.here",
    replace: "replyTos.anywhere",
  },
  {
    name: "a name that was made up is taken for the client's own",
    in: "server:hasOwnName",
    find: "return identity[0] !== 0;",
    replace: "return true;",
  },
  {
    name: "a client's names begin anew with it",
    in: "dialects:PingpongClientSession.ask",
    find: "this.#life + $number",
    replace: "$number",
  },
  {
    name: "a refusal is dropped when its client is behind",
    in: "dialects:PingpongDoorClients.#refuseTo",
    find: "this.#owed.set($$$)",
    replace: "undefined",
  },
  {
    name: "a client that is not read is not read again",
    in: "dialects:PingpongDoorClients.#resume",
    find: "this.#host.resume($$$)",
    replace: "undefined",
  },
];
