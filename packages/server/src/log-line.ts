// One entry of the log as a line for people: the time of day, the level, the message, and the other
// fields as JSON. The stack of an error follows on lines of its own.

const names: ReadonlyMap<number, string> = new Map([
  [10, "TRACE"],
  [20, "DEBUG"],
  [30, "INFO"],
  [40, "WARN"],
  [50, "ERROR"],
  [60, "FATAL"],
]);

/** SGR codes: grey, blue, green, yellow, red, and white on red. */
const colors: ReadonlyMap<number, string> = new Map([
  [10, "90"],
  [20, "34"],
  [30, "32"],
  [40, "33"],
  [50, "31"],
  [60, "41"],
]);

interface Entry {
  readonly level: number;
  /** In milliseconds since 1970. */
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
}

/** `json`: a line as pino writes it. */
export function lineForPeople(json: string, hasColors: boolean): string {
  const { level, time, msg = "", err, ...rest } = JSON.parse(json) as Entry;
  const name = names.get(level) ?? `LEVEL ${level}`;
  const shown = hasColors ? `\u001B[${colors.get(level) ?? "0"}m${name}\u001B[0m` : name;
  const fields = Object.keys(rest).length === 0 ? "" : ` ${JSON.stringify(rest)}`;
  // pino uses an error's message where no other is given.
  const reason = err?.message === undefined || err.message === msg ? "" : `: ${err.message}`;
  const stack = err?.stack === undefined ? "" : `${indented(err.stack)}\n`;
  return `[${timeOfDay(time)}] ${shown}: ${msg}${reason}${fields}\n${stack}`;
}

function timeOfDay(time: number): string {
  const at = new Date(time);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

function indented(text: string): string {
  return text.replace(/^/gm, "    ");
}
