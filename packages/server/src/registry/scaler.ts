// The scaler door: its settings, the ports it needs, and how it is made.

import {
  listenAddress,
  queueName,
  seconds,
  settings,
  wholeNumber,
  words,
  yesOrNo,
} from "../config/values.js";
import { ScalerDoor } from "../doors/scaler.js";
import { type DoorDeclaration, tcpPlaces } from "./door-declaration.js";
import { zmqCredentials, zmqMistakes, zmqSettings } from "./zmq-settings.js";

const scalerSettings = settings({
  listen: listenAddress().prefault("127.0.0.1:8516").describe("Where clients and workers connect."),
  workerTimeoutSeconds: seconds().prefault(60).describe("A worker that is silent for this time is lost."),
  clientTimeoutSeconds: seconds().prefault(600).describe("A client that is silent for this time is gone."),
  perWorkerQueueSize: wholeNumber({ from: 1, to: 1_000_000 })
    .prefault(1000)
    .describe("Maximum number of tasks that one worker holds."),
  protected: yesOrNo().prefault(true).describe("`true` refuses a client's request to shut down the workers."),
  objectBytes: wholeNumber({ from: 1 })
    .prefault(1_073_741_824)
    .describe("Maximum total size of all objects, in memory and in the engine."),
  // A client's function may be large.
  largestObjectBytes: wholeNumber({ from: 1 })
    .prefault(536_870_912)
    .describe(
      "Maximum size of one object. A larger one is refused, and the task that needs it fails with the reason.",
    ),
  function: words("a function's name")
    .optional()
    .describe("The function that a task from another dialect calls. Default: the queue's name."),
  queue: queueName().prefault("scaler").describe("The queue of this door."),
  ...zmqSettings,
});

export const scalerDeclaration: DoorDeclaration<"scaler", typeof scalerSettings> = {
  name: "scaler",
  page: "dialects/scaler.md",
  settings: scalerSettings,
  places: ({ listen }) => tcpPlaces({ listen }),
  credentials: zmqCredentials,
  mistakes: zmqMistakes,
  make: (config, parts) => new ScalerDoor({ ...parts, config }),
};
