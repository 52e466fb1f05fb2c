/**
 * Service parameters of SVCB and HTTPS (RFC 9460 §2.1, §7, appendix A): in wire form ordered by key, in presentation
 * form `key="value"` in any order.
 */
import { fromBase64, toBase64 } from '../../base/bytes.js';
import { parseIPv4, parseIPv6, printIP } from '../../base/ip.js';
import { latin1Bytes, latin1Text, quoteText, type Token, TokenCursor, unescapeText } from '../presentation.js';
import { type Field, makeField, takeWord, unicodeOfToken } from './field.js';
import { parseInteger, readU16 } from './fields.js';

/** How the value of a key is written, and which octets are valid. Texts are latin1 with string escapes decoded. */
interface ParameterKind {
  encode(text: string): Uint8Array | undefined;
  decode(value: Uint8Array): string;
  /** The problem with the octets, or undefined. */
  fault(value: Uint8Array): string | undefined;
}

const MANDATORY = 0;
const ALPN = 1;
const NO_DEFAULT_ALPN = 2;

const KEYS: Readonly<Record<string, number>> = {
  mandatory: MANDATORY,
  alpn: ALPN,
  'no-default-alpn': NO_DEFAULT_ALPN,
  port: 3,
  ipv4hint: 4,
  ech: 5,
  ipv6hint: 6,
  dohpath: 7,
  ohttp: 8,
};
/** Key names used in output. Newer keys are printed as `keyNNN`, which every server reads. */
const PRINTED_KEYS = Object.keys(KEYS).slice(0, 8);

/** Splits items at unescaped commas and decodes `\,` and `\\` (RFC 9460 §A.1); undefined for another escape. */
function splitItems(text: string): string[] | undefined {
  const items = [''];
  for (let i = 0; i < text.length; i++) {
    let c = text[i]!;
    if (c === ',') {
      items.push('');
      continue;
    }
    if (c === '\\') {
      c = text[++i] ?? '';
      if (c !== ',' && c !== '\\') return undefined;
    }
    items[items.length - 1] += c;
  }
  return items;
}

const mandatory: ParameterKind = {
  encode(text) {
    const keys = text === '' ? [] : text.split(',').map(parseKey);
    if (keys.includes(-1)) return undefined;
    return Uint8Array.from(keys.sort((a, b) => a - b).flatMap((key) => [key >> 8, key & 0xff]));
  },
  decode: (value) => keysOf(value).map(printKey).join(','),
  fault(value) {
    if (value.length === 0) return 'must not be empty';
    if (value.length % 2 !== 0) return 'ends in the middle of a key';
    const keys = keysOf(value);
    if (keys.includes(MANDATORY)) return 'must not name itself';
    const at = keys.findIndex((key, i) => i > 0 && key <= keys[i - 1]!);
    if (at < 0) return undefined;
    return keys[at] === keys[at - 1] ? `names ${printKey(keys[at]!)} twice` : 'has its keys out of order';
  },
};

function keysOf(value: Uint8Array): number[] {
  return Array.from({ length: value.length >> 1 }, (_, i) => readU16(value, 2 * i));
}

const alpn: ParameterKind = {
  encode(text) {
    const items = text === '' ? [] : splitItems(text);
    if (items?.some((item) => item === '' || item.length > 255) !== false) return undefined;
    return latin1Bytes(items.map((item) => String.fromCharCode(item.length) + item).join(''));
  },
  decode(value) {
    const items: string[] = [];
    for (let at = 0; at < value.length; at += 1 + value[at]!) {
      const item = latin1Text(value.subarray(at + 1, at + 1 + value[at]!));
      items.push(item.replace(/[\\,]/g, '\\$&'));
    }
    return items.join(',');
  },
  fault(value) {
    if (value.length === 0) return 'must not be empty';
    let at = 0;
    while (at < value.length) {
      if (value[at] === 0) return 'has an empty item';
      at += 1 + value[at]!;
    }
    return at === value.length ? undefined : 'is cut short';
  },
};

const nothing: ParameterKind = {
  encode: latin1Bytes,
  decode: latin1Text,
  fault: (value) => (value.length === 0 ? undefined : 'must not have a value'),
};

const port: ParameterKind = {
  encode(text) {
    const number = parseInteger(text, 0xffff);
    return number < 0 ? undefined : Uint8Array.of(number >> 8, number & 0xff);
  },
  decode: (value) => String(readU16(value, 0)),
  fault: (value) => (value.length === 2 ? undefined : 'must be 2 octets'),
};

function hints(length: 4 | 16, parse: (text: string) => Uint8Array | undefined): ParameterKind {
  return {
    encode(text) {
      const addresses = text === '' ? [] : text.split(',').map(parse);
      return addresses.includes(undefined) ? undefined : new Uint8Array(Buffer.concat(addresses as Uint8Array[]));
    },
    decode(value) {
      const texts: string[] = [];
      for (let at = 0; at < value.length; at += length) texts.push(printIP(value.subarray(at, at + length)));
      return texts.join(',');
    },
    fault(value) {
      if (value.length === 0) return 'must not be empty';
      return value.length % length === 0 ? undefined : `must be addresses of ${length} octets`;
    },
  };
}

const notEmpty = (value: Uint8Array): string | undefined => (value.length === 0 ? 'must not be empty' : undefined);
const ech: ParameterKind = { encode: fromBase64, decode: toBase64, fault: notEmpty };
const path: ParameterKind = { encode: latin1Bytes, decode: latin1Text, fault: notEmpty };
const opaque: ParameterKind = { encode: latin1Bytes, decode: latin1Text, fault: () => undefined };

const KINDS: readonly ParameterKind[] = [
  mandatory,
  alpn,
  nothing,
  port,
  hints(4, parseIPv4),
  ech,
  hints(16, parseIPv6),
  path,
  nothing,
];

/** The number for a key's name or for `keyNNN` without leading zeros; -1 for other words (RFC 9460 §2.1). */
function parseKey(name: string): number {
  if (Object.hasOwn(KEYS, name)) return KEYS[name]!;
  return /^key(0|[1-9]\d{0,4})$/.test(name) ? parseInteger(name.slice(3), 0xffff) : -1;
}

function printKey(key: number): string {
  return PRINTED_KEYS[key] ?? `key${key}`;
}

interface Parameter {
  readonly key: number;
  readonly value: Uint8Array;
}

/** The parameters of rdata from `at` on, in wire order; undefined when the lengths do not fit. */
function readParameters(rdata: Uint8Array, at: number): Parameter[] | undefined {
  const found: Parameter[] = [];
  while (at < rdata.length) {
    if (at + 4 > rdata.length) return undefined;
    const end = at + 4 + readU16(rdata, at + 2);
    if (end > rdata.length) return undefined;
    found.push({ key: readU16(rdata, at), value: rdata.subarray(at + 4, end) });
    at = end;
  }
  return found;
}

/** The problem with the parameters that start at `at`, or undefined. */
export function parametersFault(rdata: Uint8Array, at: number): string | undefined {
  const parameters = readParameters(rdata, at) ?? [];
  const keys = parameters.map(({ key }) => key);
  for (const [i, { key, value }] of parameters.entries()) {
    if (i > 0 && key === keys[i - 1]) return `${printKey(key)} is given twice`;
    if (i > 0 && key < keys[i - 1]!) return `${printKey(key)} is out of order`;
    const fault = KINDS[key]?.fault(value);
    if (fault !== undefined) return `${printKey(key)} ${fault}`;
  }
  const required = parameters[0]?.key === MANDATORY ? keysOf(parameters[0].value) : [];
  const missing = required.find((key) => !keys.includes(key));
  if (missing !== undefined) return `mandatory ${printKey(missing)} is missing`;
  // (RFC 9460 §7.1.1)
  return keys.includes(NO_DEFAULT_ALPN) && !keys.includes(ALPN) ? 'no-default-alpn needs alpn' : undefined;
}

/**
 * Octets of a written value, with quotes removed and escapes decoded. Undefined for an invalid escape or a stray quote.
 */
function valueOctets(written: string): Uint8Array | undefined {
  const quoted = written.startsWith('"');
  if (quoted && (written.length < 2 || !written.endsWith('"'))) return undefined;
  return unescapeText(quoted ? written.slice(1, -1) : written);
}

/** Takes one `key`, `key=value` or `key="value"`; a quoted value may be a separate token that follows directly. */
function takeParameter(tokens: TokenCursor): Parameter {
  const token = takeWord(tokens, 'service parameter');
  const equals = token.text.indexOf('=');
  const name = equals < 0 ? token.text : token.text.slice(0, equals);
  const key = parseKey(name);
  if (key < 0) throw tokens.failure('unknown service parameter key', token);
  const written = equals < 0 ? '' : token.text.slice(equals + 1);
  const octets = equals >= 0 && written === '' ? takeAdjacent(tokens, token) : valueOctets(written);
  if (!octets) throw tokens.failure(`bad escape in the value of ${name}`, token);
  const generic = name.startsWith('key');
  const value = generic ? octets : (KINDS[key] ?? opaque).encode(latin1Text(octets));
  if (!value || value.length > 0xffff) throw tokens.failure(`bad value of ${name}`, token);
  return { key, value };
}

function takeAdjacent(tokens: TokenCursor, before: Token): Uint8Array | undefined {
  const next = tokens.peek();
  const column = before.column + before.text.length;
  const adjacent = next?.quoted && next.line === before.line && next.column === column;
  return adjacent ? unescapeText(tokens.next('value').text) : new Uint8Array(0);
}

/** All parameters, to the end of the rdata. The v4 API returns their text as the client sent it. */
export const serviceParameters: Field = makeField({
  schema: { type: 'string' },
  optional: true,
  asSent: true,
  end: (rdata, at) => (readParameters(rdata, at) ? rdata.length : -1),
  parse(tokens, _origin, out) {
    const parameters: Parameter[] = [];
    while (!tokens.done) parameters.push(takeParameter(tokens));
    parameters.sort((a, b) => a.key - b.key);
    for (const { key, value } of parameters) {
      out.u16(key);
      out.u16(value.length);
      out.octets(value);
    }
  },
  print(rdata, at) {
    const texts = (readParameters(rdata, at) ?? []).map(({ key, value }) => {
      if (value.length === 0) return printKey(key);
      return `${printKey(key)}=${quoteText(latin1Bytes((KINDS[key] ?? opaque).decode(value)))}`;
    });
    return texts.join(' ');
  },
  readContent(tokens, out, label, context) {
    const sent: Token[] = [];
    while (!tokens.done) sent.push(takeWord(tokens, label));
    serviceParameters.parse(new TokenCursor(sent), context.apex, out, label);
    return sent.map(unicodeOfToken).join(' ');
  },
});
