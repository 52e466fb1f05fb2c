/**
 * The functions of the language. A function of something without a value has no value, except `concat`, which leaves it out. What
 * would become longer than {@link LONGEST_TEXT} has no value.
 */
import { printIP } from '../base/ip.js';
import { FaultFound } from './limits.js';
import type { Value } from './syntax.js';
import type { ValueType } from './tests.js';
import { decodeUrl } from './url-decode.js';
import {
  fillTemplate,
  lowerAscii,
  lowered,
  mayBegin,
  templateOf,
  wildcardCaptures,
  wildcardParts,
} from './wildcards.js';
import { spend } from './work.js';

/** UTF-16 units. */
const LONGEST_TEXT = 32 * 1024;

interface Typed<S, Type extends ValueType, Value> {
  readonly type: Type;
  /** Undefined: it has none. */
  readonly of: (subject: S) => Value | undefined;
  /** The value of a literal. */
  readonly literal?: Value;
  /** Whether it has no value in any subject. */
  readonly isAbsent?: boolean;
  readonly offset: number;
}

export type CompiledValue<S> =
  | Typed<S, 'text', string>
  | Typed<S, 'number', number>
  | Typed<S, 'truth', boolean>
  | Typed<S, 'address', Uint8Array>;

type Call = Extract<Value, { readonly kind: 'call' }>;
type Args<S> = readonly CompiledValue<S>[];

interface Shape {
  /** Types of the arguments, in order; those after `least` may be missing. */
  readonly takes: readonly (ValueType | 'any')[];
  readonly least?: number;
  /** The last type stands for any number of further arguments. */
  readonly isOpen?: boolean;
  readonly make: <S>(args: Args<S>, call: Call) => CompiledValue<S>;
}

const FUNCTIONS: Readonly<Record<string, Shape>> = {
  concat: {
    takes: ['any'],
    isOpen: true,
    make: (args, { offset }) => text(offset, (subject) => joined(args, subject)),
  },
  ends_with: {
    takes: ['text', 'text'],
    make: (args, { offset }) => truthOfTexts(offset, args, (a, b) => a.endsWith(b)),
  },
  len: { takes: ['text'], make: lengthOf },
  lower: { takes: ['text'], make: (args, { offset }) => mapped(offset, args, 0, lowered) },
  remove_query_args: { takes: ['text', 'text'], isOpen: true, make: withoutArgs },
  starts_with: {
    takes: ['text', 'text'],
    make: (args, { offset }) => truthOfTexts(offset, args, (a, b) => mayBegin(a, b) && a.startsWith(b)),
  },
  substring: { takes: ['text', 'number', 'number'], least: 2, make: partOf },
  to_string: { takes: ['any'], make: ([arg], { offset }) => text(offset, (subject) => printed(arg!.of(subject))) },
  upper: { takes: ['text'], make: (args, { offset }) => mapped(offset, args, 64, upperAscii) },
  url_decode: { takes: ['text', 'text'], least: 1, make: decoded },
  wildcard_replace: { takes: ['text', 'text', 'text', 'text'], least: 3, make: replaced },
};

/** Functions that clients know and that are not here. */
const REFUSED: ReadonlySet<string> = new Set([
  ...[
    'bit_slice',
    'cidr',
    'cidr6',
    'decode_base64',
    'encode_base64',
    'has_key',
    'has_value',
    'is_timed_hmac_valid_v0',
    'join',
  ],
  ...['lookup_json_integer', 'lookup_json_string', 'regex_replace', 'remove_bytes', 'sha256', 'split', 'uuidv4'],
]);

/** Throws {@link FaultFound} for an unknown function, and for arguments that it does not take. */
export function callOf<S>(call: Call, args: Args<S>): CompiledValue<S> {
  const { name, offset } = call;
  const shape = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (!shape) {
    const why = REFUSED.has(name) ? 'is not available here' : 'is not known';
    throw new FaultFound(offset, `the function '${name}' ${why}`);
  }
  const { takes, isOpen = false, least = takes.length, make } = shape;
  if (args.length < least || (!isOpen && args.length > takes.length)) {
    const most = isOpen ? ' or more' : least === takes.length ? '' : ` to ${takes.length}`;
    throw new FaultFound(offset, `'${name}' takes ${least}${most} arguments, not ${args.length}`);
  }
  for (const [i, { type, offset: at }] of args.entries()) {
    const wanted = takes[Math.min(i, takes.length - 1)]!;
    if (wanted !== 'any' && wanted !== type) {
      throw new FaultFound(
        at,
        `argument ${i + 1} of '${name}' must be a ${wanted}, not ${type === 'address' ? 'an' : 'a'} ${type}`,
      );
    }
  }
  return make(args, call);
}

type Texts<S> = readonly ((subject: S) => string | undefined)[];

function text<S>(offset: number, of: (subject: S) => string | undefined): CompiledValue<S> {
  return { type: 'text', of, offset };
}

function textsOf<S>(args: Args<S>): Texts<S> {
  return args.map(({ of }) => of as (subject: S) => string | undefined);
}

/** `cost`: units of work for each character. */
function mapped<S>(
  offset: number,
  args: Args<S>,
  cost: number,
  map: (text: string) => string | undefined,
): CompiledValue<S> {
  const [of] = textsOf(args);
  return text(offset, (subject) => {
    const value = of!(subject);
    if (value === undefined) return undefined;
    spend(value.length * cost);
    return map(value);
  });
}

function truthOfTexts<S>(offset: number, args: Args<S>, test: (a: string, b: string) => boolean): CompiledValue<S> {
  const [first, second] = textsOf(args);
  const of = (subject: S): boolean | undefined => {
    const [a, b] = [first!(subject), second!(subject)];
    return a === undefined || b === undefined ? undefined : test(a, b);
  };
  return { type: 'truth', of, offset };
}

function upperAscii(value: string): string {
  return value.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** Units of work for an address. */
const PRINTING = 4096;

function printed(value: string | number | boolean | Uint8Array | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'object') return String(value);
  spend(PRINTING);
  return printIP(value);
}

function joined<S>(args: Args<S>, subject: S): string | undefined {
  let whole = '';
  for (const { of } of args) whole += printed(of(subject)) ?? '';
  spend(whole.length * 2);
  return whole.length > LONGEST_TEXT ? undefined : whole;
}

function lengthOf<S>(args: Args<S>, { offset }: Call): CompiledValue<S> {
  const [of] = textsOf(args);
  return { type: 'number', of: (subject) => of!(subject)?.length, offset };
}

/** Numbers below zero count from the end. */
function partOf<S>(args: Args<S>, { offset }: Call): CompiledValue<S> {
  const [of] = textsOf(args);
  const numbers = args.slice(1).map((argument) => argument.of as (subject: S) => number | undefined);
  return text(offset, (subject) => {
    const bounds = numbers.map((number) => number(subject));
    return bounds.includes(undefined) ? undefined : of!(subject)?.slice(bounds[0], bounds[1]);
  });
}

/** An argument that says how the others are read, so that it does not depend on the request. */
function literalText<S>({ literal, offset }: CompiledValue<S>, what: string): string {
  if (typeof literal === 'string') return literal;
  throw new FaultFound(offset, `${what} must be a text in quotes`);
}

function decoded<S>(args: Args<S>, { offset }: Call): CompiledValue<S> {
  const options = args[1] ? literalText(args[1], 'the options of url_decode()') : '';
  const unknown = /[^ru]/.exec(options);
  if (unknown) throw new FaultFound(args[1]!.offset, `url_decode() has the options r and u, not ${unknown[0]}`);
  return mapped(offset, args, options.includes('r') ? 512 : 128, (value) => decodeUrl(value, options));
}

function replaced<S>(args: Args<S>, { offset }: Call): CompiledValue<S> {
  const [, pattern, replacement, flags] = args;
  const flag = flags ? literalText(flags, 'the flags of wildcard_replace()') : '';
  if (flag !== '' && flag !== 's') throw new FaultFound(flags!.offset, "wildcard_replace() has only the flag 's'");
  const isStrict = flag === 's';
  const written = literalText(pattern!, 'the pattern of wildcard_replace()');
  const parts = wildcardParts(isStrict ? written : lowerAscii(written), pattern!.offset);
  const filled = literalText(replacement!, 'the replacement of wildcard_replace()');
  const template = templateOf(filled, parts.length - 1, replacement!.offset);
  return mapped(offset, args, 16, (value) => {
    const captures = wildcardCaptures(parts, value, isStrict);
    if (!captures) return value;
    const made = fillTemplate(template, captures);
    return made.length > LONGEST_TEXT ? undefined : made;
  });
}

function withoutArgs<S>(args: Args<S>, { offset }: Call): CompiledValue<S> {
  const names = new Set(args.slice(1).map((name) => literalText(name, 'a name of remove_query_args()')));
  const nameOf = (pair: string): string => {
    const end = pair.indexOf('=');
    return end < 0 ? pair : pair.slice(0, end);
  };
  return mapped(offset, args, 64, (query) =>
    query
      .split('&')
      .filter((pair) => !names.has(nameOf(pair)))
      .join('&'),
  );
}
