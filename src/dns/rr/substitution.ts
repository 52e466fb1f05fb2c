/**
 * The substitution expression of NAPTR (RFC 3402 §3.2): delimiter, POSIX extended regular expression, delimiter,
 * replacement, delimiter, flags. An empty one is allowed: the record then has a replacement name (RFC 3403 §4.1).
 */
import { latin1Text } from '../presentation.js';

/** A digit other than 0, the flag and the escape cannot be the delimiter. */
const NO_DELIMITER = /^[1-9i\\\0]$/;
/** The largest number of repetitions that POSIX requires of an interval (RE_DUP_MAX). */
const MOST_REPETITIONS = 255;

/** What is wrong with an expression; undefined when it is valid. */
export function faultOfSubstitution(octets: Uint8Array): string | undefined {
  if (octets.length === 0) return undefined;
  const text = latin1Text(octets);
  const delimiter = text[0]!;
  if (NO_DELIMITER.test(delimiter)) return `the delimiter must not be ${JSON.stringify(delimiter)}`;
  const parts = split(text);
  if (parts.length !== 4) return `the delimiter ${delimiter} must occur three times, as in !pattern!replacement!`;
  const [, pattern, replacement, flags] = parts as [string, string, string, string];
  if (!/^i*$/.test(flags)) return 'only the flag i may follow the last delimiter';
  const groups = readPattern(pattern);
  if (typeof groups === 'string') return `the pattern ${groups}`;
  return faultOfReplacement(replacement, groups);
}

/** The parts between unescaped delimiters. */
function split(text: string): string[] {
  const delimiter = text[0];
  const parts = [''];
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === delimiter) parts.push('');
    else if (char === '\\' && at + 1 < text.length) parts[parts.length - 1] += char + text[++at]!;
    else parts[parts.length - 1] += char;
  }
  return parts;
}

function faultOfReplacement(text: string, groups: number): string | undefined {
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== '\\') continue;
    const next = text[++at];
    if (next === undefined) return 'the replacement ends in a backslash';
    if (next === '0') return 'the replacement has \\0, but the groups begin with \\1';
    if (/[1-9]/.test(next) && Number(next) > groups)
      return `the replacement has \\${next}, but the pattern has ${count(groups)}`;
  }
  return undefined;
}

function count(groups: number): string {
  return groups === 0 ? 'no group' : `only ${groups} group${groups === 1 ? '' : 's'}`;
}

/** The number of groups of a POSIX extended regular expression, or what is wrong with it. */
function readPattern(pattern: string): number | string {
  if (pattern === '') return 'is empty';
  let groups = 0;
  let open = 0;
  /** Whether there is something that a quantifier can repeat. */
  let repeatable = false;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    const interval = char === '{' ? /^\{(\d+)(?:,(\d*))?\}/.exec(pattern.slice(at)) : null;
    if (interval || char === '*' || char === '+' || char === '?') {
      if (!repeatable) return `repeats nothing at ${char}`;
      repeatable = false;
      if (!interval) continue;
      if (!isInterval(interval[1]!, interval[2])) return `has the invalid interval ${interval[0]}`;
      at += interval[0].length - 1;
    } else if (char === '(') {
      groups++;
      open++;
      repeatable = false;
    } else if (char === '[') {
      const end = endOfBrackets(pattern, at);
      if (typeof end === 'string') return end;
      at = end;
      repeatable = true;
    } else if (char === '\\') {
      if (++at >= pattern.length) return 'ends in a backslash';
      repeatable = true;
    } else if (char === '|') {
      if (at === 0 || pattern[at - 1] === '|' || at === pattern.length - 1) return 'has an empty alternative';
      repeatable = false;
    } else {
      // A parenthesis that closes nothing is an ordinary character.
      if (char === ')' && open > 0) open--;
      repeatable = char !== '^' && char !== '$';
    }
  }
  return open > 0 ? 'has a group that is not closed' : groups;
}

function isInterval(least: string, most: string | undefined): boolean {
  const [from, to] = [Number(least), most ? Number(most) : Number(least)];
  return from <= to && to <= MOST_REPETITIONS;
}

const CLASSES = /^(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)$/;

/** The index of the bracket that closes a bracket expression, or what is wrong. `]` is ordinary in the first place. */
function endOfBrackets(pattern: string, start: number): number | string {
  const first = pattern[start + 1] === '^' ? start + 2 : start + 1;
  for (let at = first; at < pattern.length; at++) {
    const char = pattern[at]!;
    if (char === ']' && at > first) return at;
    const kind = pattern[at + 1];
    if (char === '[' && (kind === ':' || kind === '.' || kind === '=')) {
      const end = pattern.indexOf(`${kind}]`, at + 2);
      if (end < 0) break;
      const name = pattern.slice(at + 2, end);
      if (kind === ':' && !CLASSES.test(name)) return `has the unknown class ${name}`;
      at = end + 1;
    } else if (kind === '-' && at + 2 < pattern.length && pattern[at + 2] !== ']' && pattern[at + 2]! < char) {
      return `has the range ${pattern.slice(at, at + 3)}, which ends before it begins`;
    }
  }
  return 'has a bracket that is not closed';
}
