// A URL that says where a dispatcher is and which dialect to speak: `http://host:7420`, `pingpong://host:port`,
// `udp://host:5555`, `monique://host:9000?out=9001&worker=10000`, `scaler://host:8516`, `pulse:/run/controller`.

import { ArgumentError } from "./errors.js";

export interface YardAddress {
  /** As it was given. */
  readonly url: string;
  readonly scheme: string;
  /** Without brackets; empty where the dialect has folders instead of hosts. */
  readonly host: string;
  readonly port: number;
  /** The folder of pulse; the prefix behind which a proxy hides http. */
  readonly path: string;
  readonly parameters: URLSearchParams;
  readonly password: string;
}

/** `schemes` are those known, for the words of the mistake; a default port is for a URL without one. */
export function readAddress(
  url: string,
  schemes: Readonly<Record<string, { readonly port?: number | undefined }>>,
): YardAddress {
  const known = `${Object.keys(schemes).join(", ")}`;
  const example = "for example http://127.0.0.1:7420";
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? [];
  if (scheme === undefined || /^[\w.-]+:\d+(\/|$)/.test(url)) {
    throw new ArgumentError(
      "bad_url",
      `${JSON.stringify(url)} is no URL: expected one of ${known}, ${example}`,
    );
  }
  const name = scheme.toLowerCase();
  const entry = Object.hasOwn(schemes, name) ? schemes[name] : undefined;
  if (!entry) {
    throw new ArgumentError(
      "bad_url",
      `${JSON.stringify(url)}: no dialect is called ${scheme}: expected ${known}`,
    );
  }
  const { parsed, path, password } = parse(url, example);
  const host = parsed.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = parsed.port === "" ? entry.port : Number(parsed.port);
  if (name !== "pulse" && (host === "" || port === undefined || port === 0)) {
    throw new ArgumentError(
      "bad_url",
      `${JSON.stringify(url)} names no host and port: ${scheme}://host:port`,
    );
  }
  return {
    url,
    scheme: name,
    host,
    port: port ?? 0,
    path,
    parameters: parsed.searchParams,
    password,
  };
}

function parse(url: string, example: string) {
  try {
    const parsed = new URL(url);
    return {
      parsed,
      path: decodeURIComponent(parsed.pathname),
      password: decodeURIComponent(parsed.password),
    };
  } catch (cause) {
    throw new ArgumentError("bad_url", `${JSON.stringify(url)} is no URL: ${example}`, { cause });
  }
}

/** host:port, with brackets where IPv6 needs them. */
export function hostAndPort({ host, port }: Pick<YardAddress, "host" | "port">): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
