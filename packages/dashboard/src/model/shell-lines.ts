// What the page does, as lines for a shell or a program: quoted so that they can be pasted whatever
// they hold.

/** Where the browser reached the API, without a slash at the end, and whether it has a token. */
export interface ReachedApi {
  readonly base: string;
  readonly hasToken: boolean;
}

export interface Submission extends ReachedApi {
  readonly queue: string;
  readonly payload: string;
  readonly contentType: string;
  readonly options: Readonly<Record<string, string>>;
}

/** For sh: in single quotes, with those inside it written as '\''. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const auth = ` -H "Authorization: Bearer $YARD_TOKEN"`;

function queryOf(options: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(options).filter(([, value]) => value !== ""));
  return query.size === 0 ? "" : `?${query}`;
}

export function curlSubmit(given: Submission): string {
  const { base, queue, payload, contentType, options, hasToken } = given;
  const url = `${base}/v1/queues/${encodeURIComponent(queue)}/tasks${queryOf(options)}`;
  const type = contentType === "" ? "" : ` -H ${quoted(`Content-Type: ${contentType}`)}`;
  return `curl -X POST${hasToken ? auth : ""}${type} \\\n  --data-binary ${quoted(payload)} \\\n  ${quoted(url)}`;
}

export function cliSubmit({ base, queue, payload, options, hasToken }: Submission): string {
  const flags = Object.entries(options)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => ` --${name} ${quoted(value)}`)
    .join("");
  return `printf %s ${quoted(payload)} | yardmaster submit ${base} --queue ${quoted(queue)}${flags}${hasToken ? " --token $YARD_TOKEN" : ""} -`;
}

export function sdkSubmit({ base, queue, payload, contentType, options, hasToken }: Submission): string {
  const settings = Object.entries({ queue, ...options })
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ");
  const body = /json/.test(contentType) && isJson(payload) ? payload : JSON.stringify(payload);
  const token = hasToken ? ", { token: process.env.YARD_TOKEN }" : "";
  return `const client = await connect(${JSON.stringify(base)}${token});\nconst { id } = await client.submit(${body}, { ${settings} });`;
}

export function curlTask({ base, hasToken }: ReachedApi, id: string): string {
  return `curl${hasToken ? auth : ""} ${quoted(`${base}/v1/tasks/${id}`)}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
