// The monique door: its settings, the ports it needs, and how it is made.

import {
  choice,
  listenAddress,
  listOf,
  namedBy,
  port,
  queueName,
  settings,
  specName,
  wholeNumber,
  words,
} from "../config/values.js";
import { MoniqueDoor } from "../doors/monique.js";
import { type DoorDeclaration, tcpPlaces } from "./door-declaration.js";
import { zmqCredentials, zmqMistakes, zmqSettings } from "./zmq-settings.js";

const specSettings = settings({
  title: words("a title").describe("The title of the spec."),
  description: words("a description").describe("The description of the spec."),
});

const moniqueSettings = settings({
  in: listenAddress()
    .prefault("127.0.0.1:9000")
    .describe("Where the communication channel receives messages."),
  out: listenAddress()
    .prefault("127.0.0.1:9001")
    .describe("Where the communication channel publishes messages."),
  techIn: listenAddress()
    .prefault("127.0.0.1:9024")
    .describe("Where the technical channel receives messages."),
  techOut: listenAddress()
    .prefault("127.0.0.1:9025")
    .describe("Where the technical channel publishes messages."),
  form: choice(["d3", "d1"]).prefault("d3").describe("Which of the two wire forms the door writes."),
  allowMessages: listOf(specName(), "a list of specs")
    .prefault([])
    .describe("Specs that may pass. Every spec may pass while this list and `specs` are both empty."),
  specs: namedBy(specName(), specSettings)
    .prefault({})
    .describe("Specs that may pass, by name. They are shown at `/v1/specs`."),
  controllers: namedBy(queueName(), port())
    .prefault({})
    .describe("Specs whose questions are given to workers, each with the port its workers connect to."),
  prefetch: wholeNumber({ from: 1, to: 10_000 })
    .prefault(1)
    .describe("Maximum number of tasks that a worker holds at once."),
  ...zmqSettings,
});

export const moniqueDeclaration: DoorDeclaration<"monique", typeof moniqueSettings> = {
  name: "monique",
  page: "dialects/monique.md",
  settings: moniqueSettings,
  places: ({ in: input, out, techIn, techOut, controllers }) => [
    ...tcpPlaces({ in: input, out, techIn, techOut }),
    ...tcpPlaces(
      Object.fromEntries(
        Object.entries(controllers).map(([spec, port]) => [`controllers.${spec}`, { ...input, port }]),
      ),
    ),
  ],
  credentials: zmqCredentials,
  mistakes: zmqMistakes,
  make: (config, parts) => new MoniqueDoor({ ...parts, config }),
};
