// The pulse door: its settings, the folder it needs, and how it is made.

import { anonymousPrincipal } from "../access/settings.js";
import { choice, fileMode, queueName, settings, words } from "../config/values.js";
import { PulseDoor } from "../doors/pulse.js";
import type { DoorDeclaration } from "./door-declaration.js";

const pulseSettings = settings({
  dir: words("a folder")
    .prefault("/run/controller")
    .describe("The folder of the sockets. If it cannot be written, `<data>/controller` is used."),
  numbering: choice(["auto", "document", "main"])
    .prefault("auto")
    .describe("Which numbering of message types the door uses; `auto` detects it."),
  queue: queueName().prefault("pulse").describe("The queue of this door."),
  dirMode: fileMode()
    .optional()
    .describe('Mode of the folder. Default: "0750" for a folder that the door creates.'),
  socketMode: fileMode().optional().describe('Mode of main.sock. Default: "0660".'),
  owner: words("a user's name or number").optional().describe("Owner of the folder and of main.sock."),
  group: words("a group's name or number")
    .optional()
    .describe(
      "Group of the folder and of main.sock: its users may connect. Default: that of the dispatcher.",
    ),
  anonymous: anonymousPrincipal(),
});

export const pulseDeclaration: DoorDeclaration<"pulse", typeof pulseSettings> = {
  name: "pulse",
  page: "dialects/pulse.md",
  settings: pulseSettings,
  places: ({ dir }) => [{ kind: "folder", key: "dir", dir }],
  make: (config, parts) => new PulseDoor({ ...parts, config }),
};
