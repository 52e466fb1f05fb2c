/**
 * Limits the content of a JSON text before it is parsed, because V8 takes seconds for some texts of 8 MB. One pass over
 * the octets in slices, so that other requests run in between.
 */
import { setImmediate } from 'node:timers/promises';

/** The deepest nesting of objects and lists; v4 has no body deeper than 6. */
const DEEPEST = 32;
/** The largest number of items in one list, or members in one object. */
const LONGEST = 10_000;
/** The largest total of items and members. A batch of 3,500 records with all members has about 80,000. */
const MOST_VALUES = 200_000;
/** Octets in one slice: one or two milliseconds. */
const SLICE_OCTETS = 1 << 18;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The limit that a JSON text exceeds; undefined when it exceeds none. The parser checks whether it is JSON. */
export async function findExcess(text: Uint8Array): Promise<string | undefined> {
  const walk: Walk = { depth: 0, values: 1, inString: false, items: new Uint32Array(DEEPEST + 1) };
  for (let at = 0; at < text.length; at += SLICE_OCTETS) {
    if (at > 0) await setImmediate();
    const excess = walkSlice(walk, text, at, Math.min(text.length, at + SLICE_OCTETS));
    if (excess !== undefined) return excess;
  }
  return undefined;
}

interface Walk {
  depth: number;
  values: number;
  inString: boolean;
  /** Number of commas so far in the open value at each depth. */
  readonly items: Uint32Array;
}

function walkSlice(walk: Walk, text: Uint8Array, from: number, to: number): string | undefined {
  let { depth, values, inString } = walk;
  const { items } = walk;
  for (let i = from; i < to; i++) {
    const octet = text[i];
    if (inString) {
      if (octet === QUOTE && !isEscaped(text, i)) inString = false;
    } else if (octet === QUOTE) inString = true;
    else if (octet === COMMA) {
      values++;
      items[depth]!++;
      if (items[depth]! >= LONGEST) return `a list or an object in it has more than ${LONGEST} items`;
      if (values > MOST_VALUES) return `it contains more than ${MOST_VALUES} values`;
    } else if (octet === OPEN_LIST || octet === OPEN_OBJECT) {
      values++;
      depth++;
      if (depth > DEEPEST) return `it is nested more than ${DEEPEST} levels deep`;
      items[depth] = 0;
    } else if (octet === CLOSE_LIST || octet === CLOSE_OBJECT) depth = Math.max(0, depth - 1);
  }
  Object.assign(walk, { depth, values, inString });
  return undefined;
}

/** Whether an odd number of backslashes precedes the octet. */
function isEscaped(text: Uint8Array, at: number): boolean {
  let before = at;
  while (before > 0 && text[before - 1] === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}
