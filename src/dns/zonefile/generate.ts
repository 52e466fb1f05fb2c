/**
 * $GENERATE as in BIND: one line becomes a series of records, and `$` and `${offset,width,base}` stand for the counter.
 */
import { PresentationError, type Token } from '../presentation.js';

/** The largest number of records from one directive. */
const MAX_GENERATED = 65536;

export interface GenerateRange {
  readonly start: number;
  readonly stop: number;
  readonly step: number;
}

/** `start-stop` or `start-stop/step`. Throws PresentationError. */
export function parseRange(token: Token): GenerateRange {
  const match = /^(\d{1,10})-(\d{1,10})(?:\/(\d{1,10}))?$/.exec(token.text);
  const fail = (message: string): PresentationError =>
    new PresentationError(message, token.line, token.column, token.text);
  if (!match) throw fail('range of $GENERATE must be start-stop or start-stop/step');
  const range = { start: Number(match[1]), stop: Number(match[2]), step: Number(match[3] ?? 1) };
  if (range.stop < range.start || range.step < 1 || range.stop > 0x7fffffff) throw fail('bad range of $GENERATE');
  if ((range.stop - range.start) / range.step >= MAX_GENERATED) {
    throw fail(`$GENERATE makes more than ${MAX_GENERATED} records`);
  }
  return range;
}

/**
 * Expands the text for one value of the counter. `\$` and `$$` are a dollar sign. An offset applies only where it is
 * written; BIND also applies it to a following bare `$`, which its manual does not mention. Throws PresentationError.
 */
export function expandTemplate(token: Token, value: number): string {
  const { text } = token;
  let out = '';
  for (let at = 0; at < text.length; at++) {
    const c = text[at]!;
    if (c === '\\' && at + 1 < text.length) {
      at++;
      out += text[at] === '$' ? '$' : `\\${text[at]}`;
    } else if (c !== '$') {
      out += c;
    } else if (text[at + 1] === '$') {
      at++;
      out += '$';
    } else if (text[at + 1] === '{') {
      const close = text.indexOf('}', at);
      if (close < 0) throw new PresentationError('unclosed ${ in $GENERATE', token.line, token.column, text);
      out += formatCounter(token, text.slice(at + 2, close), value);
      at = close;
    } else {
      out += String(value);
    }
  }
  return out;
}

/** `offset[,width[,base]]`: base d, o, x, X, or n and N for the nibbles of reverse names. */
function formatCounter(token: Token, modifier: string, value: number): string {
  const match = /^([+-]?\d{1,10})(?:,(\d{1,3})(?:,([doxXnN]))?)?$/.exec(modifier);
  if (!match) throw new PresentationError('bad modifier in $GENERATE', token.line, token.column, token.text);
  const shifted = value + Number(match[1]);
  const width = Number(match[2] ?? 0);
  const base = match[3] ?? 'd';
  if (shifted < 0)
    throw new PresentationError('offset in $GENERATE leads below zero', token.line, token.column, token.text);
  if (width > 255) throw new PresentationError('width in $GENERATE is above 255', token.line, token.column, token.text);
  switch (base) {
    case 'o':
      return shifted.toString(8).padStart(width, '0');
    case 'x':
      return shifted.toString(16).padStart(width, '0');
    case 'X':
      return shifted.toString(16).toUpperCase().padStart(width, '0');
    case 'n':
      return nibbles(shifted.toString(16), width);
    case 'N':
      return nibbles(shifted.toString(16).toUpperCase(), width);
    default:
      return String(shifted).padStart(width, '0');
  }
}

/** Hexadecimal digits from last to first, separated by dots, as in ip6.arpa; the width counts digits and dots. */
function nibbles(digits: string, width: number): string {
  const reversed = [...digits].reverse();
  let out = '';
  for (let i = 0; i < reversed.length || out.length < width; i++) {
    out += reversed[i] ?? '0';
    if (i + 1 < reversed.length || out.length < width) out += '.';
  }
  return out;
}
