/** Field kinds for character strings (RFC 1035 §3.3). */
import type { ByteWriter } from '../../base/bytes.js';
import { latin1Text, quoteText, type TokenCursor, unescapeText } from '../presentation.js';
import { type Field, lengthPrefixedEnd, makeField, readText } from './field.js';
import { octetsOfText, textOfOctets } from './octet-text.js';
import { RdataError } from './type.js';

export const MAX_STRING_LENGTH = 255;

/** Octets of the next token, quoted or not, with escapes decoded. Throws PresentationError. */
function takeOctets(tokens: TokenCursor, label: string, max: number): Uint8Array {
  const token = tokens.next(label);
  const octets = unescapeText(token.text);
  if (!octets) throw tokens.failure(`bad escape in ${label}`, token);
  if (octets.length > max) throw tokens.failure(`${label} is longer than ${max} octets`, token);
  return octets;
}

/** Reads one token as a character string. Text without escapes, the usual case, is copied once. */
function parseString(tokens: TokenCursor, out: ByteWriter, label: string): void {
  const text = tokens.peek()?.text;
  if (text === undefined || text.length > MAX_STRING_LENGTH || text.includes('\\')) {
    writePrefixed(takeOctets(tokens, label, MAX_STRING_LENGTH), out);
    return;
  }
  tokens.next(label);
  out.u8(text.length);
  out.latin1(text);
}

function writePrefixed(octets: Uint8Array, out: ByteWriter): void {
  out.u8(octets.length);
  out.octets(octets);
}

/** One character string: plain text in v4 `data`, quoted in `content`. */
export const charString: Field = makeField({
  schema: { type: 'string' },
  end: lengthPrefixedEnd,
  parse(tokens, _origin, out, label) {
    parseString(tokens, out, label);
  },
  print: (rdata, at, end) => quoteText(rdata.subarray(at + 1, end)),
  readData(value, out, label) {
    const octets = octetsOfText(readText(value, label));
    if (octets.length > MAX_STRING_LENGTH) throw new RdataError(`${label} is longer than ${MAX_STRING_LENGTH} octets.`);
    writePrefixed(octets, out);
    return quoteText(octets);
  },
  writeData: (rdata, at, end) => textOfOctets(rdata.subarray(at + 1, end)),
});

/** One or more character strings up to the end of the rdata. */
export const strings: Field = makeField({
  schema: { type: 'strings' },
  end(rdata, at) {
    if (at >= rdata.length) return -1;
    while (at >= 0 && at < rdata.length) at = lengthPrefixedEnd(rdata, at);
    return at;
  },
  parse(tokens, _origin, out, label) {
    do parseString(tokens, out, label);
    while (!tokens.done);
  },
  print: (rdata, at, end) => stringsOf(rdata, at, end).map(quoteText).join(' '),
  readData(value, out, label) {
    const texts = Array.isArray(value) ? value : [value];
    if (texts.length === 0) throw new RdataError(`${label} must not be empty.`);
    return texts.map((text) => charString.readData(text, out, label, { apex: new Uint8Array(1) })).join(' ');
  },
  writeData: (rdata, at, end) => stringsOf(rdata, at, end).map(textOfOctets),
});

/** The character strings of rdata, as views without their length octets. */
export function stringsOf(rdata: Uint8Array, at = 0, end: number = rdata.length): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (; at < end; at += 1 + rdata[at]!) found.push(rdata.subarray(at + 1, at + 1 + rdata[at]!));
  return found;
}

/**
 * Text up to the end of the rdata, without a length octet (CAA, URI). The presentation form is one token, quoted or
 * not; unquoted v4 content may also contain blanks.
 */
export function textRest(minimum: 0 | 1): Field {
  const max = 0xffff;
  const spell = (rdata: Uint8Array, at: number, end: number): string => quoteText(rdata.subarray(at, end));
  const empty = (label: string): string => `${label} must not be empty`;
  return makeField({
    schema: { type: 'string' },
    end: (rdata, at) => (at + minimum <= rdata.length ? rdata.length : -1),
    parse(tokens, _origin, out, label) {
      const token = tokens.peek();
      const octets = takeOctets(tokens, label, max);
      if (octets.length < minimum) throw tokens.failure(empty(label), token);
      out.octets(octets);
    },
    print: spell,
    readContent(tokens, out, label) {
      const spaced = tokens.peek()?.quoted === false;
      const words = [takeOctets(tokens, label, max)];
      while (spaced && !tokens.done) words.push(takeOctets(tokens, label, max));
      const octets = Buffer.from(words.map(latin1Text).join(' '), 'latin1');
      if (octets.length < minimum) throw tokens.failure(empty(label));
      out.octets(octets);
      return quoteText(octets);
    },
    readData(value, out, label) {
      const octets = octetsOfText(readText(value, label));
      if (octets.length < minimum) throw new RdataError(`${empty(label)}.`);
      out.octets(octets);
      return quoteText(octets);
    },
    writeData: (rdata, at, end) => textOfOctets(rdata.subarray(at, end)),
  });
}
