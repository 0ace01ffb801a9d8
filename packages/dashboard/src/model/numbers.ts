// Numbers as the page writes them: thousands with commas, rates with at most two decimals, sizes in
// KB and MB.

/** 15348 becomes "15,348". Commas, because the words around it are English. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A rate per second: small ones with one or two decimals, without trailing zeros. */
export function rate(value: number): string {
  if (!(value > 0)) return "0";
  if (value < 0.095) return value.toFixed(2);
  if (value < 1) return trimmed(value.toFixed(2));
  if (value < 9.95) return trimmed(value.toFixed(1));
  return count(value);
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let size = value;
  let unit = -1;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size < 99.95 ? trimmed(size.toFixed(1)) : Math.round(size)} ${units[unit]}`;
}

export function percent(share: number): string {
  return `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
}

/** "1 task", "14 tasks". */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** "first" to "eighth", then "9th", "10th" and so on. */
export function ordinal(value: number): string {
  const words = ["zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
  const tail = value % 100 >= 11 && value % 100 <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return words[value] ?? `${value}${tail}`;
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
