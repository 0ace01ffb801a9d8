// The udp door: its settings, the ports it needs, and how it is made.

import { anonymousPrincipal } from "../access/settings.js";
import { hostName, port, queueName, seconds, settings, wholeNumber } from "../config/values.js";
import { UdpDoor } from "../doors/udp.js";
import type { DoorDeclaration } from "./door-declaration.js";
import { networkSettings } from "./network-settings.js";

const udpSettings = settings({
  client_address: settings({
    host: hostName().prefault("127.0.0.1").describe("The address on which the door receives datagrams."),
    port: port().prefault(5555).describe("The port on which the door receives datagrams."),
  }).prefault({}),
  timeout_task_placement: seconds()
    .prefault(60)
    .describe("Seconds after which a task that no calculator has taken expires."),
  timeout_task_execution: seconds()
    .prefault(3600)
    .describe(
      "Seconds after which a calculator that has not answered loses the task to another. `attemptTimeoutSeconds` of the queue takes precedence.",
    ),
  activity_poll_sec: seconds()
    .prefault(10)
    .describe("Seconds of silence after which a calculator is polled."),
  // This applies also to a calculator that does not support polls.
  inactivity_timeout: seconds().prefault(60).describe("Seconds of silence after which a calculator is lost."),
  sends: wholeNumber({ from: 1, to: 100 })
    .prefault(4)
    .describe("How often a datagram is sent in total if it is not acknowledged."),
  resendSeconds: seconds().prefault(0.05).describe("Seconds between two of these sends."),
  amplification: wholeNumber({ from: 1, to: 1_000_000 })
    .optional()
    .describe(
      "Until an address beyond loopback has acknowledged a datagram, the door sends it at most this many times the bytes that it received from it. Default: 3.",
    ),
  queue: queueName().prefault("udp").describe("The queue of this door."),
  ...networkSettings,
  anonymous: anonymousPrincipal(),
});

export const udpDeclaration: DoorDeclaration<"udp", typeof udpSettings> = {
  name: "udp",
  page: "dialects/udp.md",
  settings: udpSettings,
  places: ({ client_address }) => [{ kind: "udp", key: "client_address", ...client_address }],
  make: (config, parts) => new UdpDoor({ ...parts, config }),
};
