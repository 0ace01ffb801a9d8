// A URL with the dispatcher's address and the dialect to speak: `http://host:7420`,
// `pingpong://host:port`, `udp://host:5555`, `monique://host:9000?out=9001&worker=10000`,
// `scaler://host:8516`, `pulse:/run/controller`.

import { ArgumentError } from "./errors.js";

/** The parts of a dispatcher's URL. */
export interface YardAddress {
  /** The URL as given. */
  readonly url: string;
  readonly scheme: string;
  /** Without brackets; empty if the dialect uses folders instead of hosts. */
  readonly host: string;
  readonly port: number;
  /** For pulse the folder, for http the path prefix of a proxy. */
  readonly path: string;
  readonly parameters: URLSearchParams;
  readonly password: string;
  /** Further dispatchers of the same cluster, if several URLs were given. */
  readonly others?: readonly YardAddress[];
}

/** One URL, or several of one cluster: as a list, or separated by commas. */
export type YardUrls = string | readonly string[];

type Schemes = Readonly<Record<string, { readonly port?: number | undefined }>>;

/** The URLs in a text that are separated by commas. A comma inside a URL does not separate. */
export function urlsIn(text: string): readonly string[] {
  return text.split(/,(?=\s*[a-z][a-z0-9+.-]*:\/\/)|,\s*$/i).map((url) => url.trim());
}

/** The address of the first URL, with those of the others. Only http doors can be several. */
export function readAddresses(urls: YardUrls, schemes: Schemes): YardAddress {
  const all = (typeof urls === "string" ? urlsIn(urls) : urls).map((url) => readAddress(url, schemes));
  const [first, ...others] = all;
  if (first === undefined) throw new ArgumentError("bad_url", "no URL is given");
  if (others.length === 0) return first;
  const seen = new Set<string>();
  for (const address of all) {
    const { scheme, url } = address;
    if (scheme !== "http" && scheme !== "https") {
      throw new ArgumentError("bad_url", `${JSON.stringify(url)}: only http doors can be several`);
    }
    const place = hostAndPort(address) + address.path;
    if (seen.has(place)) throw new ArgumentError("bad_url", `${JSON.stringify(url)} is given twice`);
    seen.add(place);
  }
  return { ...first, others };
}

/**
 * `schemes` lists the known ones for error messages. The default port applies to a URL without one.
 */
export function readAddress(url: string, schemes: Schemes): YardAddress {
  const known = `${Object.keys(schemes).join(", ")}`;
  const example = "for example http://127.0.0.1:7420";
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? [];
  if (scheme === undefined || /^[\w.-]+:\d+(\/|$)/.test(url)) {
    throw new ArgumentError(
      "bad_url",
      `${JSON.stringify(url)} is not a URL: expected one of ${known}, ${example}`,
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
    throw new ArgumentError("bad_url", `${JSON.stringify(url)} is not a URL: ${example}`, { cause });
  }
}

/** host:port, with brackets around an IPv6 address. */
export function hostAndPort({ host, port }: Pick<YardAddress, "host" | "port">): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
