/** Fields for octets in an encoding of RFC 4648, for signature times and for sets of types. */
import { fromBase32Hex, fromBase64, fromHex, toBase32Hex, toBase64, toHex } from '../../base/bytes.js';
import { encodeBitmap, typesOfBitmap } from '../type-bitmap.js';
import { type Field, lengthPrefixedEnd, makeField, readText, takeJoinedWords, takeWord } from './field.js';
import { parseInteger, readU16, readU32 } from './fields.js';
import { codeOfMnemonic, mnemonicOf } from './mnemonics.js';
import { RdataError } from './type.js';

interface RestOptions {
  readonly minimum: number;
  readonly decode: (text: string) => Uint8Array | undefined;
  readonly encode: (octets: Uint8Array) => string;
  readonly encoding: string;
}

/**
 * Octets up to the end of the rdata, written in one or more words. The v4 API returns the digits as the client sent
 * them.
 */
function encodedRest({ minimum, decode, encode, encoding }: RestOptions): Field {
  return makeField({
    schema: { type: 'string' },
    asSent: true,
    optional: minimum === 0,
    end: (rdata, at) => (at + minimum <= rdata.length ? rdata.length : -1),
    parse(tokens, _origin, out, label) {
      const token = tokens.peek();
      const octets = decode(takeJoinedWords(tokens, label, minimum === 0));
      if (!octets || octets.length < minimum) throw tokens.failure(`${label} must be ${encoding}`, token);
      out.octets(octets);
    },
    print: (rdata, at, end) => encode(rdata.subarray(at, end)),
    readContent(tokens, out, label) {
      const text = takeJoinedWords(tokens, label, minimum === 0);
      const octets = decode(text);
      if (!octets || octets.length < minimum) throw tokens.failure(`${label} must be ${encoding}`);
      out.octets(octets);
      return text;
    },
  });
}

const HEX = { decode: fromHex, encode: toHex, encoding: 'an even number of hexadecimal digits' };
const BASE64 = { decode: fromBase64, encode: toBase64, encoding: 'base64 text' };

/** One or more octets in hexadecimal, to the end. */
export const hex: Field = encodedRest({ ...HEX, minimum: 1 });
/** One or more octets in base 64, to the end. */
export const base64: Field = encodedRest({ ...BASE64, minimum: 1 });
/** Octets in base 64, possibly none, to the end. */
export const optionalBase64: Field = encodedRest({ ...BASE64, minimum: 0 });

interface PrefixedOptions {
  readonly minimum: number;
  /** The text for zero octets. */
  readonly empty?: string;
  readonly decode: (text: string) => Uint8Array | undefined;
  readonly encode: (octets: Uint8Array) => string;
}

/** Octets preceded by a length octet, written as one word. */
function encodedPrefixed({ minimum, empty, decode, encode }: PrefixedOptions): Field {
  return makeField({
    schema: { type: 'string' },
    end(rdata, at) {
      const end = lengthPrefixedEnd(rdata, at);
      return end - at - 1 < minimum ? -1 : end;
    },
    parse(tokens, _origin, out, label) {
      const token = takeWord(tokens, label);
      const octets = token.text === empty ? new Uint8Array(0) : decode(token.text);
      const fits = octets && octets.length <= 255 && octets.length >= minimum;
      if (!fits || (octets.length === 0 && token.text !== empty)) throw tokens.failure(`bad ${label}`, token);
      out.u8(octets.length);
      out.octets(octets);
    },
    print: (rdata, at, end) => (end - at === 1 ? (empty ?? '') : encode(rdata.subarray(at + 1, end))),
  });
}

/** Hexadecimal, `-` for none: the salt of NSEC3 (RFC 5155 §3.3). */
export const salt: Field = encodedPrefixed({ minimum: 0, empty: '-', decode: fromHex, encode: toHex });
/** Base 32 with extended hex alphabet: a hashed owner (RFC 5155 §3.3). */
export const base32hex: Field = encodedPrefixed({ minimum: 1, decode: fromBase32Hex, encode: toBase32Hex });

/**
 * `count` octets as groups of hexadecimal digits with a separator: EUI48 `00-00-5e-00-53-2a`, NID
 * `0014:4fff:ff20:ee64`.
 */
export function hexGroups(count: number, digits: number, separator: ':' | '-'): Field {
  const groups = (count * 2) / digits;
  const shape = new RegExp(`^[0-9a-f]{${separator === '-' ? digits : `1,${digits}`}}$`, 'i');
  return makeField({
    schema: { type: 'string' },
    end: (rdata, at) => (at + count <= rdata.length ? at + count : -1),
    parse(tokens, _origin, out, label) {
      const token = takeWord(tokens, label);
      const parts = token.text.split(separator);
      if (parts.length !== groups || !parts.every((part) => shape.test(part))) {
        throw tokens.failure(`${label} must be ${groups} groups of ${digits} hexadecimal digits`, token);
      }
      out.octets(fromHex(parts.map((part) => part.padStart(digits, '0')).join(''))!);
    },
    print(rdata, at, end) {
      const text = toHex(rdata.subarray(at, end));
      return Array.from({ length: groups }, (_, i) => text.slice(i * digits, (i + 1) * digits)).join(separator);
    },
  });
}

/**
 * Seconds since 1970 from `YYYYMMDDHHmmSS` (UTC) or from plain digits; -1 for other text (RFC 4034 §3.2). Later than 2106 they
 * are what is left of them in 32 bits, by serial number arithmetic (§3.1.5).
 */
function parseTime(text: string): number {
  if (text.length !== 14) return parseInteger(text, 0xffffffff);
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text);
  if (!match) return -1;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const time = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
  return time >= 0 && printTime(time) === text ? time % 2 ** 32 : -1;
}

function printTime(time: number): string {
  return new Date(time * 1000).toISOString().replace(/[-:T]|\..*/g, '');
}

/** Time of a signature. */
export const time: Field = makeField({
  schema: { type: 'string' },
  end: (rdata, at) => (at + 4 <= rdata.length ? at + 4 : -1),
  parse(tokens, _origin, out, label) {
    const token = takeWord(tokens, label);
    const value = parseTime(token.text);
    if (value < 0) throw tokens.failure(`${label} must be YYYYMMDDHHmmSS or seconds since 1970`, token);
    out.u32(value);
  },
  print: (rdata, at) => printTime(readU32(rdata, at)),
});

/** One record type. */
export const typeCovered: Field = makeField({
  schema: { type: 'string' },
  end: (rdata, at) => (at + 2 <= rdata.length ? at + 2 : -1),
  parse(tokens, _origin, out, label) {
    const token = takeWord(tokens, label);
    const code = codeOfMnemonic(token.text);
    if (code === undefined) throw tokens.failure(`${label} must be a record type`, token);
    out.u16(code);
  },
  print: (rdata, at) => mnemonicOf(readU16(rdata, at)),
});

/** A set of record types in windows (RFC 4034 §4.1.2), to the end of the rdata. */
export function typeBitmap(minimum: 0 | 1): Field {
  return makeField({
    schema: { type: 'strings' },
    optional: minimum === 0,
    end: (rdata, at) => (rdata.length - at < minimum ? -1 : bitmapEnd(rdata, at)),
    parse(tokens, _origin, out, label) {
      const codes: number[] = [];
      if (minimum > 0 && tokens.done) tokens.next(label);
      while (!tokens.done) {
        const token = takeWord(tokens, label);
        const code = codeOfMnemonic(token.text);
        if (code === undefined) throw tokens.failure(`${label}: unknown record type`, token);
        codes.push(code);
      }
      out.octets(encodeBitmap(codes));
    },
    print: (rdata, at, end) => typesOfBitmap(rdata, at, end).map(mnemonicOf).join(' '),
    readData(value, out, label) {
      const words = Array.isArray(value) ? value : readText(value, label).split(/\s+/);
      const codes = words.filter((word) => word !== '').map((word) => codeOfMnemonic(String(word)));
      if (codes.length < minimum || codes.includes(undefined)) throw new RdataError(`${label} must be record types.`);
      const octets = encodeBitmap(codes as number[]);
      out.octets(octets);
      return typesOfBitmap(octets, 0, octets.length).map(mnemonicOf).join(' ');
    },
    writeData: (rdata, at, end) => typesOfBitmap(rdata, at, end).map(mnemonicOf),
  });
}

/**
 * End of the windows, or -1 when invalid: ascending, 1 to 32 octets each, no trailing zero octets (RFC 4034 §4.1.2).
 */
function bitmapEnd(rdata: Uint8Array, at: number): number {
  for (let last = -1; at < rdata.length; ) {
    const window = rdata[at]!;
    const length = rdata[at + 1] ?? 0;
    const end = at + 2 + length;
    if (window <= last || length < 1 || length > 32 || end > rdata.length || rdata[end - 1] === 0) return -1;
    last = window;
    at = end;
  }
  return at;
}
