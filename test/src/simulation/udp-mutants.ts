// Ways to break udp's door and sessions that its peers must notice.

import type { Mutant } from "./mutants.js";

const population = "udp";

export const udpMutants: readonly Mutant[] = [
  {
    name: "an add_task is acknowledged before it is committed",
    in: "dialects:UdpDoorClients.addTask",
    find: "this.#pending.add($$$)",
    replace: "$0, this.#host.exchange.acknowledge(client, packet)",
    population,
  },
  {
    name: "an add_task that is said again is another task",
    in: "dialects:UdpDoorClients.addTask",
    find: "({ queue, $$$ })",
    replace: "{ ...$0, key: undefined }",
    population,
  },
  {
    name: "a success that is not acknowledged is not told again",
    in: "dialects:Telling.unanswered",
    find: "again: true",
    replace: "again: false",
    population,
  },
  {
    name: "a success is told without its result when it is told again",
    in: "dialects:UdpDoorClients.tell",
    find: "!ask($first)",
    replace: "((this.told ??= new Set()).size === this.told.add(task.id).size || $0)",
    population,
  },
  {
    name: "the ack of a success does not count",
    in: "dialects:Telling.acknowledged",
    find: "this.#host.post($$$)",
    replace: "undefined",
    population,
  },
  {
    name: "an ack counts from anywhere",
    in: "dialects:UdpExchange.receiveAck",
    find: "asked?.message.to.name !== from.name",
    replace: "asked === undefined",
    population,
  },
  {
    name: "an answer counts for whatever the calculator has",
    in: "dialects:isNamed",
    find: "uuid === undefined ? $byId : $byUuid",
    replace: "true",
    population,
  },
  {
    name: "a perform_task that nobody acknowledges is forgotten",
    in: "dialects:Job.unanswered",
    find: "this.#host.notPerforming($$$)",
    replace: "undefined",
    population,
  },
  {
    name: "a calculator that comes back with nothing keeps its task",
    in: "dialects:UdpDoorCalculator.#heardWithJob",
    find: "job.doubtUntil ??= $until",
    replace: "undefined",
    population,
  },
  {
    name: "a calculator that is silent for ever keeps its task",
    in: "dialects:CalculatorLiveness.handleTimeout",
    find: "this.#host.gone()",
    replace: "this.#dueAt = undefined",
    population,
  },
  {
    name: "a calculator is believed to have done what it was not sent",
    in: "core:currentLease",
    find: "event.isOfBefore === true",
    replace: "false",
    fromSeed: 900,
    population,
  },
  {
    name: "a perform_task that nobody acknowledges costs the task an attempt",
    in: "dialects:UdpDoorCalculator.notPerforming",
    find: '({ type: "attempt-returned", reason: "undelivered", $$$ })',
    replace: '{ ...$0, type: "attempt-lost", reason: "send_failed" }',
    population: "mutes",
  },
];
