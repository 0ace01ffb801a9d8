// The settings of the six doors, all known from the first day, so that a config file that names a door which this
// version does not have is told that, and not that it is misspelt.

import * as z from "zod";
import {
  choice,
  hostName,
  listenAddress,
  listOf,
  namedBy,
  port,
  queueName,
  seconds,
  settings,
  specName,
  wholeNumber,
  words,
  yesOrNo,
} from "./values.js";

/** What fits an Authorization header unescaped, and is not soon found by trying: on loopback, too, pages may try. */
const tokenExpected =
  "16 to 1024 printable characters without spaces; openssl rand -hex 16 prints such a token";

export const doorSettings = {
  http: settings({
    listen: listenAddress().prefault("127.0.0.1:7420"),
    /** Asked of every request as `Authorization: Bearer …`; required to listen beyond loopback. */
    token: z
      .string({ error: tokenExpected })
      .regex(/^[\x21-\x7e]{16,1024}$/, { error: tokenExpected })
      .optional(),
    /** Names under which browsers and proxies may reach this door, beside addresses and localhost. */
    hosts: listOf(hostName(), "a list of host names").prefault([]),
  }),
  pingpong: settings({
    clients: listenAddress().prefault("127.0.0.1:5562"),
    workers: listenAddress().prefault("127.0.0.1:5563"),
    workerExpireSeconds: seconds().prefault(3),
    form: choice(["document", "program"]).prefault("document"),
    queue: queueName().prefault("pingpong"),
  }),
  pulse: settings({
    dir: words("a folder").prefault("/run/controller"),
    numbering: choice(["auto", "document", "main"]).prefault("auto"),
    queue: queueName().prefault("pulse"),
  }),
  udp: settings({
    client_address: settings({
      host: hostName().prefault("127.0.0.1"),
      port: port().prefault(5555),
    }).prefault({}),
    timeout_task_placement: seconds().prefault(60),
    /** A calculator that works on a task for longer loses it to another. */
    timeout_task_execution: seconds().prefault(3600),
    /** A calculator that is silent for so long is asked whether it is there. */
    activity_poll_sec: seconds().prefault(10),
    /** And one that is silent for so long is gone, whether or not it knows that question. */
    inactivity_timeout: seconds().prefault(60),
    /** All sends of a datagram that is not acknowledged, and the time between two. */
    sends: wholeNumber({ from: 1, to: 100 }).prefault(4),
    resendSeconds: seconds().prefault(0.05),
    queue: queueName().prefault("udp"),
  }),
  monique: settings({
    in: listenAddress().prefault("127.0.0.1:9000"),
    out: listenAddress().prefault("127.0.0.1:9001"),
    techIn: listenAddress().prefault("127.0.0.1:9024"),
    techOut: listenAddress().prefault("127.0.0.1:9025"),
    form: choice(["d3", "d1"]).prefault("d3"),
    allowMessages: listOf(specName(), "a list of specs").prefault([]),
    specs: namedBy(
      specName(),
      settings({ title: words("a title"), description: words("a description") }),
    ).prefault({}),
    /** The port on which the workers of a spec are reached, which is a queue. */
    controllers: namedBy(queueName(), port()).prefault({}),
    /** Tasks that one of those workers is given before it has answered the first. */
    prefetch: wholeNumber({ from: 1, to: 10_000 }).prefault(1),
  }),
  scaler: settings({
    listen: listenAddress().prefault("127.0.0.1:8516"),
    workerTimeoutSeconds: seconds().prefault(60),
    clientTimeoutSeconds: seconds().prefault(600),
    perWorkerQueueSize: wholeNumber({ from: 1, to: 1_000_000 }).prefault(1000),
    protected: yesOrNo().prefault(true),
    /** Bytes of all objects together, which lie in memory. */
    objectBytes: wholeNumber({ from: 1 }).prefault(1_073_741_824),
    /** Of one object: a client's function may be large. */
    largestObjectBytes: wholeNumber({ from: 1 }).prefault(536_870_912),
    /** The function that a task from another dialect calls; the queue's name if absent. */
    function: words("a function's name").optional(),
    queue: queueName().prefault("scaler"),
  }),
};

export type DoorName = keyof typeof doorSettings;
export type DoorConfig<Name extends DoorName> = z.output<(typeof doorSettings)[Name]>;

export const doorNames = Object.keys(doorSettings) as DoorName[];
