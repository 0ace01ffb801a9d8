// The three lines of the first run, for a shell or a program, at the address where this page was
// reached.

import type { ReachedApi } from "./shell-lines.js";

const sdk = "@yardmaster/sdk";

export type FirstLanguage = "curl" | "cli" | "ts" | "dialect";

export interface FirstLines {
  readonly submit: string;
  readonly work: string;
  readonly finish: string | undefined;
}

export interface FirstFacts extends ReachedApi {
  readonly task: string | undefined;
  readonly attempt: number | undefined;
}

export function firstLines(language: FirstLanguage, facts: FirstFacts): FirstLines {
  const { base, hasToken } = facts;
  // On a line of its own, because the others would wrap.
  const auth = hasToken ? ` -H "Authorization: Bearer $YARD_TOKEN" \\\n ` : "";
  const token = hasToken ? " --token $YARD_TOKEN" : "";
  if (language === "cli") {
    return {
      submit: `echo 'frame 1' | yardmaster submit ${base} --queue render --key frame-1${token} -`,
      work: `yardmaster work ${base} --queue render${token} -- tr a-z A-Z`,
      finish: undefined,
    };
  }
  if (language === "ts") {
    const given = hasToken ? "token: process.env.YARD_TOKEN" : "";
    const options = hasToken ? `, { ${given} }` : "";
    const more = hasToken ? `, ${given}` : "";
    return {
      submit: `import { connect } from "${sdk}";\n\nconst client = await connect("${base}"${options});\nconst { id } = await client.submit("frame 1", { queue: "render", key: "frame-1" });`,
      work: `import { work } from "${sdk}";\n\nawait work("${base}", { queue: "render"${more} }, async (payload) => payload.text().toUpperCase());`,
      finish: undefined,
    };
  }
  return {
    submit: `curl -X POST${auth} --data 'frame 1' \\\n  '${base}/v1/queues/render/tasks?key=frame-1'`,
    work: `curl -X POST -i${auth} -H 'Accept: application/octet-stream' \\\n  '${base}/v1/queues/render:claim?worker=me&lease=5m'`,
    finish:
      language !== "curl"
        ? undefined
        : `curl -X POST${auth} -H 'Yard-Token: …' --data 'rendered' \\\n  '${base}/v1/tasks/${facts.task ?? "1"}/attempts/${facts.attempt ?? "…"}:done'`,
  };
}

export const doorWords: readonly (readonly [door: string, words: string])[] = [
  ["http", "anything that can make a request"],
  ["pingpong", "ZeroMQ with READY and PING"],
  ["pulse", "Unix sockets with protobuf"],
  ["udp", "JSON datagrams"],
  ["monique", "ZeroMQ components and their specs"],
  ["scaler", "Python scaler 1.7, as it is"],
];

/** "clients 127.0.0.1:5562, workers :5563" */
export function doorAddress(addresses: Readonly<Record<string, string>> | undefined): string {
  if (!addresses) return "closed";
  const entries = Object.entries(addresses);
  if (entries.length === 1) return entries[0]?.[1] ?? "";
  let host = "";
  return entries
    .slice(0, 3)
    .map(([name, address]) => {
      const at = address.lastIndexOf(":");
      const isSame = at > 0 && address.slice(0, at) === host;
      if (at > 0) host = address.slice(0, at);
      return `${name} ${isSame ? address.slice(at) : address}`;
    })
    .join(", ");
}
