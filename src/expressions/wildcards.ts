/**
 * Patterns in which `*` stands for any characters, none included; `\*` and `\\` stand for themselves. Each star takes the shortest text
 * that lets the rest match. The parts between the stars are looked for in order, which takes linear time as long as none is too long.
 */
import { FaultFound } from './limits.js';
import { spend } from './work.js';

/** The texts between the stars. */
export type Parts = readonly string[];

const MOST_STARS = 8;
/** Units of work for each character of a text in which parts are looked for that are not too long. */
const LOOKING = 16;

/** `offset`: of the pattern in the expression. Throws {@link FaultFound}. */
export function wildcardParts(pattern: string, offset: number): Parts {
  const parts: string[] = [''];
  for (let at = 0; at < pattern.length; at++) {
    const unit = pattern[at]!;
    if (unit === '\\') {
      const next = pattern[++at];
      if (next !== '*' && next !== '\\') {
        throw new FaultFound(offset, 'in a pattern, a backslash may stand only before * or another backslash');
      }
      parts[parts.length - 1] += next;
    } else if (unit === '*') {
      if (pattern[at + 1] === '*') throw new FaultFound(offset, 'a pattern must not have two stars in a row');
      parts.push('');
    } else parts[parts.length - 1] += unit;
  }
  if (parts.length > MOST_STARS + 1) throw new FaultFound(offset, `a pattern may have at most ${MOST_STARS} stars`);
  return parts;
}

/** Only ASCII has cases here. */
export function lowerAscii(text: string): string {
  if (!UPPER.test(text)) return text;
  return ASCII.test(text) ? text.toLowerCase() : text.replace(UPPERS, (letters) => letters.toLowerCase());
}

const ASCII = /^[\0-\x7f]*$/;
const UPPER = /[A-Z]/;
const UPPERS = /[A-Z]+/g;

/** The last texts in lower case, by length: the rules of a zone compare the same few fields again and again. */
const PLACES = 16;
/** Units of work for each character. */
const LOWERING = 16;
const lastTexts = new Array<string>(PLACES).fill('');
const lastLowers = new Array<string>(PLACES).fill('');

export function lowered(text: string): string {
  const place = text.length % PLACES;
  if (text !== lastTexts[place]) {
    spend(text.length * LOWERING);
    lastLowers[place] = lowerAscii(text);
    lastTexts[place] = text;
  }
  return lastLowers[place]!;
}

/** Whether a whole text matches. `isStrict`: upper and lower case differ. */
export function wildcardTest(pattern: string, isStrict: boolean, offset: number): (text: string) => boolean {
  const parts = wildcardParts(isStrict ? pattern : lowerAscii(pattern), offset);
  return isStrict ? (text) => matches(parts, text) : (text) => matches(parts, lowered(text));
}

/** Whether a text may begin with another one: the last character of the latter decides for most texts, and costs a tenth of a comparison. */
export function mayBegin(text: string, start: string): boolean {
  const last = start.length - 1;
  return last < 0 || text.charCodeAt(last) === start.charCodeAt(last);
}

/** V8 looks for a part in linear time only as far as its tables reach (`kBMMaxShift`): a longer one costs its length at each character. */
const LONGEST_LINEAR = 250;

function costOf(parts: Parts): number {
  let longest = 0;
  for (let i = 1; i < parts.length - 1; i++) longest = Math.max(longest, parts[i]!.length);
  return longest > LONGEST_LINEAR ? longest * 2 : LOOKING;
}

function matches(parts: Parts, text: string): boolean {
  const first = parts[0]!;
  if (parts.length === 1) return text === first;
  const last = parts[parts.length - 1]!;
  const end = text.length - last.length;
  if (!mayBegin(text, first)) return false;
  if (!text.startsWith(first) || end < first.length || !text.endsWith(last)) return false;
  let at = first.length;
  if (parts.length > 2) spend(text.length * costOf(parts));
  for (let i = 1; i < parts.length - 1; i++) {
    const part = parts[i]!;
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** What the stars stand for in a text that matches; undefined for another one. */
export function wildcardCaptures(parts: Parts, text: string, isStrict: boolean): string[] | undefined {
  const compared = isStrict ? text : lowered(text);
  if (!matches(parts, compared)) return undefined;
  const captures: string[] = [];
  let at = parts[0]!.length;
  for (let i = 1; i < parts.length; i++) {
    const part = parts[i]!;
    const found = i === parts.length - 1 ? text.length - part.length : compared.indexOf(part, at);
    captures.push(text.slice(at, found));
    at = found + part.length;
  }
  return captures;
}

/** A text with references to captures: texts and, between them, numbers of captures, from 0. */
export type Template = readonly (string | number)[];

/**
 * Reads a replacement such as `/a/${1}`; `$$` is one `$`. `bare`: whether `$1` is a reference, too, and `$` before anything else
 * stands for itself.
 */
export function templateOf(text: string, captures: number, offset: number, bare = false): Template {
  const pieces: (string | number)[] = [''];
  const pattern = /\$(?:\{(\d{1,2})\}|(\d)|(\$)|)/g;
  let at = 0;
  const say = (more: string): void => {
    const last = pieces.length - 1;
    if (typeof pieces[last] === 'string') pieces[last] += more;
    else pieces.push(more);
  };
  for (const match of text.matchAll(pattern)) {
    const [whole, braced, digit, escaped] = match;
    say(text.slice(at, match.index));
    at = match.index + whole.length;
    const number = braced ?? (bare ? digit : undefined);
    if (number !== undefined) {
      if (Number(number) < 1 || Number(number) > captures) {
        throw new FaultFound(offset, `there is no star ${number}: the pattern has ${captures}`);
      }
      pieces.push(Number(number) - 1);
    } else if (escaped !== undefined) say('$');
    else if (bare) say(whole);
    else throw new FaultFound(offset, `'$' must stand before a number in braces, such as \${1}, or before another '$'`);
  }
  say(text.slice(at));
  return pieces;
}

export function fillTemplate(template: Template, captures: readonly string[]): string {
  let text = '';
  for (const piece of template) text += typeof piece === 'string' ? piece : captures[piece]!;
  return text;
}
