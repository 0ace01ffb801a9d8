// Checks a running dispatcher: whether it answers and is ready, its version, and its clock.

import {
  connect,
  type DoorAddresses,
  HttpConnection,
  RefusedError,
  UnreachableError,
  YardError,
} from "@yardmaster/sdk";
import { span } from "../amounts.js";
import { httpCredentials, using, version, type YardOptions } from "../command.js";
import { better, type Finding, good, wrong } from "./finding.js";

export interface RunningDispatcher {
  readonly doors: DoorAddresses;
}

/** More than the delay of a request explains. */
const skewMsMax = 2_000;

export async function checkDispatcher({
  url,
  ...flags
}: YardOptions): Promise<{ findings: Finding[]; running?: RunningDispatcher }> {
  const client = await connect(url, httpCredentials(flags));
  const connection = new HttpConnection(client.address, httpCredentials(flags));
  return using(client, async () => {
    try {
      const sentAt = Date.now();
      const { headers } = await connection.ask("/healthz");
      const doors = await client.doors();
      const isReady = await connection.ask("/readyz").then(
        () => true,
        () => false,
      );
      const findings = [
        isReady
          ? good("dispatcher", `${connection.where} is ready`)
          : better("dispatcher", `${connection.where} is starting or stopping`, "Try again in a moment."),
        ...(await versionFinding(connection)),
        ...skewFinding(headers.date, sentAt),
      ];
      return { findings, running: { doors } };
    } catch (fault) {
      return { findings: [notThere(fault, connection.where)] };
    } finally {
      connection.close();
    }
  });
}

function notThere(fault: unknown, where: string): Finding {
  if (fault instanceof UnreachableError) return good("dispatcher", `none answers at ${where}`);
  if (fault instanceof RefusedError && fault.code === "unauthorized") {
    return wrong("dispatcher", `${where} asks for a token`, "Give it with --token, or set YARD_TOKEN.");
  }
  if (!(fault instanceof YardError)) throw fault;
  return wrong(
    "dispatcher",
    fault.message,
    "Another program may have its port: choose another in doors.http.listen.",
  );
}

async function versionFinding(connection: HttpConnection): Promise<Finding[]> {
  const document = await connection
    .json<{ info?: { version?: string } }>("/openapi.json")
    .catch(() => undefined);
  const theirs = document?.info?.version;
  if (theirs === undefined || theirs === version) return [];
  return [
    better(
      "version",
      `the dispatcher is ${theirs}, this command ${version}`,
      "Use the same version of both.",
    ),
  ];
}

function skewFinding(date: string | undefined, sentAt: number): Finding[] {
  const theirs = Date.parse(date ?? "");
  if (Number.isNaN(theirs)) return [];
  // The Date header has whole seconds.
  const skewMs = Math.max(sentAt - (theirs + 1000), theirs - Date.now(), 0);
  if (skewMs <= skewMsMax) return [];
  return [
    better(
      "clock",
      `the dispatcher's clock is ${span(skewMs)} off ours`,
      "Set both machines' clocks by NTP.",
    ),
  ];
}
