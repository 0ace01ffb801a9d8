// Regular expressions for ranges of whole numbers, so that the OpenAPI document describes exactly
// which values are accepted. A looser pattern would let generated clients send refused values.

/** Matches the whole numbers in the range, both ends included, without leading zeros. */
export function wholeNumberPattern(from: number, to: number): string {
  const found: string[] = [];
  for (let digits = String(from).length; digits <= String(to).length; digits += 1) {
    const least = digits === 1 ? 0 : 10 ** (digits - 1);
    const low = Math.max(from, least);
    const high = Math.min(to, 10 ** digits - 1);
    found.push(...sameLength(String(low), String(high)));
  }
  return found.join("|");
}

/** The same for two numbers with the same count of digits. */
function sameLength(low: string, high: string): string[] {
  if (low === "") return [""];
  if (/^0+$/.test(low) && /^9+$/.test(high)) return [anyDigits(low.length)];
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (first === last) return sameLength(lowRest, highRest).map((rest) => first + rest);
  const isLowWhole = /^0*$/.test(lowRest);
  const isHighWhole = /^9*$/.test(highRest);
  const middle = digitsFrom(first + (isLowWhole ? 0 : 1), last - (isHighWhole ? 0 : 1));
  return [
    ...(isLowWhole ? [] : sameLength(lowRest, "9".repeat(lowRest.length)).map((rest) => first + rest)),
    ...(middle === "" ? [] : [middle + anyDigits(lowRest.length)]),
    ...(isHighWhole ? [] : sameLength("0".repeat(highRest.length), highRest).map((rest) => last + rest)),
  ];
}

function digitsFrom(from: number, to: number): string {
  if (from > to) return "";
  return from === to ? String(from) : `[${from}-${to}]`;
}

function anyDigits(count: number): string {
  return count === 0 ? "" : `[0-9]{${count}}`;
}
