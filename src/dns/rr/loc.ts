/** LOC: geographical location (RFC 1876). */
import type { TokenCursor } from '../presentation.js';
import { defineType } from './define.js';
import { type Field, makeField, readNumber, takeWord } from './field.js';
import { parseInteger, readU32 } from './fields.js';
import { type ApiInput, RdataError, type RRType } from './type.js';

const LENGTH = 16;
/** Latitude and longitude 0, in thousandths of a second of arc. */
const EQUATOR = 0x80000000;
const DEGREE = 3600000;
const MINUTE = 60000;
/** Altitude 0 in centimetres. */
const SEA_LEVEL = 10000000;
const MAX_ALTITUDE = 0xffffffff - SEA_LEVEL;
const MAX_PRECISION = 9e9;
/** Defaults in metres (RFC 1876 §3). */
const DEFAULTS = { size: 1, precision_horz: 10000, precision_vert: 10 };

type Compass = 'NS' | 'EW';

/** Reads degrees, minutes, seconds and direction as signed thousandths of a second. Throws PresentationError. */
function takeAngle(tokens: TokenCursor, label: string, limit: number, compass: Compass): number {
  const first = tokens.peek();
  const parts: number[] = [];
  for (;;) {
    const token = takeWord(tokens, `direction of ${label}`);
    const direction = compass.indexOf(token.text.toUpperCase());
    if (token.text.length === 1 && direction >= 0) {
      const [degrees = -1, minutes = 0, thousandths = 0] = parts;
      const angle = degrees * DEGREE + minutes * MINUTE + thousandths;
      if (degrees < 0 || angle > limit * DEGREE) throw tokens.failure(`${label} is out of range`, first);
      return direction === compass.indexOf('N') || direction === compass.indexOf('E') ? angle : -angle;
    }
    const value =
      parts.length === 2 ? parseSeconds(token.text) : parseInteger(token.text, parts.length === 0 ? limit : 59);
    if (parts.length === 3 || value < 0) throw tokens.failure(`bad ${label}`, token);
    parts.push(value);
  }
}

function parseSeconds(text: string): number {
  const match = /^(\d{1,2})(?:\.(\d{1,3}))?$/.exec(text);
  if (!match) return -1;
  const thousandths = Number(match[1]) * 1000 + Number((match[2] ?? '').padEnd(3, '0'));
  return thousandths < MINUTE ? thousandths : -1;
}

/** Reads `12.34m` as centimetres. */
function takeCentimetres(tokens: TokenCursor, label: string, min: number, max: number): number {
  const token = takeWord(tokens, label);
  const match = /^(-?)(\d{1,8})(?:\.(\d{0,2}))?m?$/i.exec(token.text);
  const size = match ? Number(match[2]) * 100 + Number((match[3] ?? '').padEnd(2, '0')) : Number.NaN;
  const value = match?.[1] === '-' ? -size : size;
  if (!(value >= min && value <= max)) throw tokens.failure(`${label} must be metres in range`, token);
  return value === 0 ? 0 : value;
}

/** Encodes centimetres as mantissa and exponent, one digit each; further digits are lost (RFC 1876 §2). */
function encodePrecision(centimetres: number): number {
  let exponent = 0;
  let mantissa = centimetres;
  for (; mantissa >= 10; exponent++) mantissa = Math.floor(mantissa / 10);
  return mantissa === 0 ? 0 : (mantissa << 4) | exponent;
}

function decodePrecision(octet: number): number {
  return (octet >> 4) * 10 ** (octet & 15);
}

/** Whether both digits are valid and the value has no other encoding. */
function isPrecision(octet: number): boolean {
  return octet === 0 || (octet >> 4 >= 1 && octet >> 4 <= 9 && (octet & 15) <= 9);
}

function printMetres(centimetres: number, unit: string): string {
  const size = Math.abs(centimetres);
  const text = `${Math.floor(size / 100)}.${String(size % 100).padStart(2, '0')}${unit}`;
  return centimetres < 0 ? `-${text}` : text;
}

interface Angle {
  readonly degrees: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly direction: string;
}

function decodeAngle(value: number, compass: Compass): Angle {
  const size = Math.abs(value - EQUATOR);
  return {
    degrees: Math.floor(size / DEGREE),
    minutes: Math.floor((size % DEGREE) / MINUTE),
    seconds: (size % MINUTE) / 1000,
    direction: value >= EQUATOR ? (compass === 'NS' ? 'N' : 'E') : compass === 'NS' ? 'S' : 'W',
  };
}

function printAngle(value: number, compass: Compass): string {
  const { degrees, minutes, seconds, direction } = decodeAngle(value, compass);
  return `${degrees} ${minutes} ${seconds.toFixed(3)} ${direction}`;
}

function printLocation(rdata: Uint8Array, unit: string): string {
  return [
    printAngle(readU32(rdata, 4), 'NS'),
    printAngle(readU32(rdata, 8), 'EW'),
    printMetres(readU32(rdata, 12) - SEA_LEVEL, unit),
    ...[1, 2, 3].map((at) => printMetres(decodePrecision(rdata[at]!), unit)),
  ].join(' ');
}

const location: Field = makeField({
  schema: { type: 'string' },
  end: (rdata, at) => (at + LENGTH <= rdata.length ? at + LENGTH : -1),
  parse(tokens, _origin, out) {
    const latitude = takeAngle(tokens, 'latitude', 90, 'NS');
    const longitude = takeAngle(tokens, 'longitude', 180, 'EW');
    const altitude = takeCentimetres(tokens, 'altitude', -SEA_LEVEL, MAX_ALTITUDE);
    out.u8(0);
    for (const [name, metres] of Object.entries(DEFAULTS)) {
      out.u8(encodePrecision(tokens.done ? metres * 100 : takeCentimetres(tokens, name, 0, MAX_PRECISION)));
    }
    out.u32(EQUATOR + latitude);
    out.u32(EQUATOR + longitude);
    out.u32(SEA_LEVEL + altitude);
  },
  print: (rdata) => printLocation(rdata, 'm'),
  // The v4 API writes metres without a unit (v4: §6).
  spell: (rdata) => printLocation(rdata, ''),
});

const type = defineType({
  mnemonic: 'LOC',
  code: 29,
  rfc: 'RFC 1876 §2',
  fields: { location },
  check(rdata) {
    if (rdata[0] !== 0) return 'version of LOC rdata must be 0';
    if (![1, 2, 3].every((at) => isPrecision(rdata[at]!))) return 'bad size or precision in LOC rdata';
    const inRange = (at: number, limit: number): boolean => Math.abs(readU32(rdata, at) - EQUATOR) <= limit * DEGREE;
    return inRange(4, 90) && inRange(8, 180) ? undefined : 'latitude or longitude out of range';
  },
  api: {},
});

interface Member {
  readonly name: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly integer?: boolean;
  readonly values?: readonly string[];
  /** Without a default the member is required. */
  readonly default?: number;
  /** Number of decimal places that are kept. */
  readonly places?: number;
}

/** In the order of the presentation form. */
const MEMBERS: readonly Member[] = [
  { name: 'lat_degrees', minimum: 0, maximum: 90, integer: true },
  { name: 'lat_minutes', minimum: 0, maximum: 59, integer: true, default: 0 },
  { name: 'lat_seconds', minimum: 0, maximum: 59.999, default: 0, places: 3 },
  { name: 'lat_direction', values: ['N', 'S'] },
  { name: 'long_degrees', minimum: 0, maximum: 180, integer: true },
  { name: 'long_minutes', minimum: 0, maximum: 59, integer: true, default: 0 },
  { name: 'long_seconds', minimum: 0, maximum: 59.999, default: 0, places: 3 },
  { name: 'long_direction', values: ['E', 'W'] },
  { name: 'altitude', minimum: -100000, maximum: 42849672.95, default: 0, places: 2 },
  { name: 'size', minimum: 0, maximum: 90000000, default: DEFAULTS.size, places: 2 },
  { name: 'precision_horz', minimum: 0, maximum: 90000000, default: DEFAULTS.precision_horz, places: 2 },
  { name: 'precision_vert', minimum: 0, maximum: 90000000, default: DEFAULTS.precision_vert, places: 2 },
];

/** Prints one member in presentation form. */
function textOfMember(member: Member, value: unknown): string {
  const { name, minimum = 0, maximum = 0, integer = false, values, places = 0 } = member;
  const pointer = `/data/${name}`;
  if (value == null) {
    if (member.default === undefined) throw new RdataError(`${name} is a required data field.`, pointer, 9101);
    return String(member.default);
  }
  if (values) {
    const text = String(value).trim().toUpperCase();
    if (!values.includes(text)) throw new RdataError(`${name} must be ${values.join(' or ')}.`, pointer);
    return text;
  }
  const number = readNumber(value);
  if (number === undefined || number < minimum || number > maximum || (integer && !Number.isInteger(number))) {
    const kind = integer ? 'an integer' : 'a number';
    throw new RdataError(`${name} must be ${kind} from ${minimum} to ${maximum}.`, pointer);
  }
  return number.toFixed(places);
}

function readLocation(input: ApiInput, apex: Uint8Array): { rdata: Uint8Array; content: string } {
  if (input.data == null && input.content?.trim()) return type.fromApi(input, apex);
  const content = MEMBERS.map((each) => textOfMember(each, input.data?.[each.name])).join(' ');
  try {
    return type.fromApi({ content }, apex);
  } catch (error) {
    throw error instanceof RdataError ? new RdataError(error.message, '/data', error.code) : error;
  }
}

function dataOf(rdata: Uint8Array): Readonly<Record<string, unknown>> {
  const latitude = decodeAngle(readU32(rdata, 4), 'NS');
  const longitude = decodeAngle(readU32(rdata, 8), 'EW');
  return {
    altitude: (readU32(rdata, 12) - SEA_LEVEL) / 100,
    lat_degrees: latitude.degrees,
    lat_direction: latitude.direction,
    lat_minutes: latitude.minutes,
    lat_seconds: latitude.seconds,
    long_degrees: longitude.degrees,
    long_direction: longitude.direction,
    long_minutes: longitude.minutes,
    long_seconds: longitude.seconds,
    precision_horz: decodePrecision(rdata[2]!) / 100,
    precision_vert: decodePrecision(rdata[3]!) / 100,
    size: decodePrecision(rdata[1]!) / 100,
  };
}

export const LOC: RRType = {
  ...type,
  data: MEMBERS.map(({ name, minimum = 0, maximum = 0, integer, values, ...rest }) => ({
    name,
    required: rest.default === undefined,
    ...(values ? { type: 'string', values } : { type: integer ? 'integer' : 'number', minimum, maximum }),
  })),
  fromApi: readLocation,
  toApi: (rdata, content) => ({ content, data: dataOf(rdata) }),
};
