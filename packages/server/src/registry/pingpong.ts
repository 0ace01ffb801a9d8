// The pingpong door: its settings, the ports it needs, and how it is made.

import { choice, listenAddress, queueName, seconds, settings } from "../config/values.js";
import { PingpongDoor } from "../doors/pingpong.js";
import { type DoorDeclaration, tcpPlaces } from "./door-declaration.js";
import { zmqCredentials, zmqMistakes, zmqSettings } from "./zmq-settings.js";

const pingpongSettings = settings({
  clients: listenAddress().prefault("127.0.0.1:5562").describe("Where clients connect."),
  workers: listenAddress().prefault("127.0.0.1:5563").describe("Where workers connect."),
  workerExpireSeconds: seconds().prefault(3).describe("An idle worker that is silent for this time is lost."),
  form: choice(["document", "program"])
    .prefault("document")
    .describe("Which of the two wire forms the door uses. Workers of the original program need `program`."),
  queue: queueName().prefault("pingpong").describe("The queue of this door."),
  ...zmqSettings,
});

export const pingpongDeclaration: DoorDeclaration<"pingpong", typeof pingpongSettings> = {
  name: "pingpong",
  page: "dialects/pingpong.md",
  settings: pingpongSettings,
  places: ({ clients, workers }) => tcpPlaces({ clients, workers }),
  credentials: zmqCredentials,
  mistakes: zmqMistakes,
  make: (config, parts) => new PingpongDoor({ ...parts, config }),
};
