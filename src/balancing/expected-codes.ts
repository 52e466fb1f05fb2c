/** The statuses that a monitor expects: a list of codes (`200`), classes (`2xx`) and ranges (`301-303`). Pure. */

const PART = /^(?:([1-5])xx|([1-5]\d\d)(?:-([1-5]\d\d))?)$/i;
const LONGEST = 256;

/** From and to, both included. */
type Range = readonly [from: number, to: number];

/** The ranges of a list; undefined for a text that is none. */
export function parseExpectedCodes(text: string): readonly Range[] | undefined {
  if (text.length > LONGEST) return undefined;
  const ranges: Range[] = [];
  for (const part of text.split(',')) {
    const found = PART.exec(part.trim());
    if (!found) return undefined;
    const [, group, from, to = from] = found;
    const range: Range =
      group === undefined ? [Number(from), Number(to)] : [Number(group) * 100, Number(group) * 100 + 99];
    if (range[0] > range[1]) return undefined;
    ranges.push(range);
  }
  return ranges;
}

export function isExpectedCode(ranges: readonly Range[], status: number): boolean {
  return ranges.some(([from, to]) => status >= from && status <= to);
}
