/** Field kinds for numbers, addresses and domain names. */
import { parseIPv4, parseIPv6, printIP } from '../../base/ip.js';
import { NameError, parseName, printName } from '../name.js';
import type { Token, TokenCursor } from '../presentation.js';
import { parseTtl } from '../ttl.js';
import { plainNameEnd } from '../wire-name.js';
import { type Field, makeField, type NameRules, readNumber, readText, takeWord, unicodeOfToken } from './field.js';
import { endsWithDot, parseHost, printHost } from './host.js';
import { RdataError } from './type.js';

/** The value of a word of decimal digits; -1 for other words and for values above `max` (no more than 2^32-1). */
export function parseInteger(text: string, max: number): number {
  const length = text.length;
  if (length === 0 || length > 10) return -1;
  let value = 0;
  for (let i = 0; i < length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value > max ? -1 : value;
}

type Width = 1 | 2 | 4;

interface IntegerOptions {
  /** Accepted words for numbers, in upper case. */
  readonly words?: Readonly<Record<string, number>>;
  /** Whether `1h30m` is also accepted. */
  readonly timeUnits?: boolean;
}

/** The number in presentation form: digits, a known word, or a time with units; -1 for other words. */
function numberOfWord(text: string, max: number, options: IntegerOptions): number {
  const number = parseInteger(text, max);
  if (number >= 0) return number;
  const word = text.toUpperCase();
  if (options.words && Object.hasOwn(options.words, word)) return options.words[word]!;
  return options.timeUnits ? (parseTtl(text, max) ?? -1) : -1;
}

/** Unsigned number of `width` octets, printed in digits. */
export function integer(width: Width, options: IntegerOptions = {}): Field {
  const max = 2 ** (8 * width) - 1;
  const write = width === 1 ? 'u8' : width === 2 ? 'u16' : 'u32';
  const range = (label: string): string => `${label} must be an integer from 0 to ${max}`;
  const read = (rdata: Uint8Array, at: number): number =>
    width === 1 ? rdata[at]! : width === 2 ? readU16(rdata, at) : readU32(rdata, at);
  const print = (rdata: Uint8Array, at: number): string => String(read(rdata, at));
  return makeField({
    schema: { type: 'integer', minimum: 0, maximum: max },
    end: (rdata, at) => (at + width <= rdata.length ? at + width : -1),
    parse(tokens, _origin, out, label) {
      const token = takeWord(tokens, label);
      const value = numberOfWord(token.text, max, options);
      if (value < 0) throw tokens.failure(range(label), token);
      out[write](value);
    },
    print,
    readData(value, out, label) {
      const number =
        readNumber(value) ?? (typeof value === 'string' ? numberOfWord(value.trim(), max, options) : undefined);
      if (number === undefined || !Number.isInteger(number) || number < 0 || number > max) {
        throw new RdataError(`${range(label)}.`);
      }
      out[write](number);
      return String(number);
    },
    writeData: (rdata, at) => read(rdata, at),
  });
}

export const u8 = integer(1);
export const u16 = integer(2);
export const u32 = integer(4);
/** Seconds, written plainly or with units (SOA timers). */
export const seconds = integer(4, { timeUnits: true });

export function readU16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

export function readU32(bytes: Uint8Array, at: number): number {
  return readU16(bytes, at) * 0x10000 + readU16(bytes, at + 2);
}

function address(length: 4 | 16, parseText: (text: string) => Uint8Array | undefined): Field {
  const expected = `a valid IPv${length === 4 ? 4 : 6} address`;
  return makeField({
    schema: { type: 'string' },
    end: (rdata, at) => (at + length <= rdata.length ? at + length : -1),
    parse(tokens, _origin, out, label) {
      const token = takeWord(tokens, label);
      const octets = parseText(token.text);
      if (!octets) throw tokens.failure(`${label} must be ${expected}`, token);
      out.octets(octets);
    },
    // A view takes as long as the rest.
    print: (rdata, at, end) => printIP(end - at === rdata.length ? rdata : rdata.subarray(at, end)),
  });
}

export const ipv4 = address(4, parseIPv4);
export const ipv6 = address(16, parseIPv6);

/** Wire name of the next word. Throws PresentationError. */
export function takeName(tokens: TokenCursor, origin: Uint8Array, label: string): Uint8Array {
  return nameOfWord(tokens, takeWord(tokens, label), origin, label);
}

export function nameOfWord(tokens: TokenCursor, token: Token, origin: Uint8Array, label: string): Uint8Array {
  try {
    return parseName(token.text, origin);
  } catch (error) {
    if (error instanceof NameError) throw tokens.failure(`${label}: ${error.message}`, token);
    throw error;
  }
}

interface NameOptions extends Partial<NameRules> {
  /** Whether the root is allowed (`.` as "none"). */
  readonly root?: boolean;
  /** Whether the v4 API keeps a final dot that was sent. */
  readonly keepDot?: boolean;
}

/** An uncompressed domain name. In the v4 API it is a host name: lower case, without the final dot. */
export function domainName(options: NameOptions = {}): Field {
  const readHost = (text: string, label: string, apex: Uint8Array): { wire: Uint8Array; spelled: string } => {
    const wire = parseHost(text, apex);
    if (!wire || (wire.length === 1 && !options.root)) throw new RdataError(`${label} must be a valid hostname.`);
    const host = printHost(wire, 0, wire.length);
    return { wire, spelled: options.keepDot && host !== '.' && endsWithDot(text) ? `${host}.` : host };
  };
  return makeField({
    schema: { type: 'string' },
    asSent: options.keepDot ?? false,
    name: {
      compress: options.compress ?? false,
      lower: options.lower ?? false,
      additional: options.additional ?? false,
    },
    end: (rdata, at) => plainNameEnd(rdata, at, rdata.length),
    parse(tokens, origin, out, label) {
      out.octets(takeName(tokens, origin, label));
    },
    print: (rdata, at) => printName(rdata, at),
    spell: printHost,
    readContent(tokens, out, label, context) {
      const { wire, spelled } = readHost(unicodeOfToken(takeWord(tokens, label)), label, context.apex);
      out.octets(wire);
      return spelled;
    },
    readData(value, out, label, context) {
      const { wire, spelled } = readHost(readText(value, label).trim(), label, context.apex);
      out.octets(wire);
      return spelled;
    },
  });
}
