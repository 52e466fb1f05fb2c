/**
 * Makes a condition out of an expression and a table of fields. The caller gives the fields: a name and how its value is found in
 * what is examined. A field without a value makes its comparison false, whichever comparison it is.
 */
import { type Network, parseNetwork, unmappedIP } from '../base/ip.js';
import { containsOf } from './addresses.js';
import { DEFAULT_LIMITS, type ExpressionFault, type ExpressionLimits, FaultFound } from './limits.js';
import { type Comparison, type Expression, type ListValue, type Literal, parseExpression } from './parse.js';

/** A field of the language: its type, and its value in a subject; undefined: it has none there. */
export type Field<S> =
  | { readonly type: 'text'; readonly of: (subject: S) => string | undefined }
  | { readonly type: 'number'; readonly of: (subject: S) => number | undefined }
  | { readonly type: 'truth'; readonly of: (subject: S) => boolean | undefined }
  /** 4 or 16 octets. */
  | { readonly type: 'address'; readonly of: (subject: S) => Uint8Array | undefined }
  /** Texts by key; a key may have several. */
  | { readonly type: 'map'; readonly of: (subject: S, key: string) => readonly string[] | undefined }
  /** It is known, but has no value in any subject. */
  | { readonly type: 'absent'; readonly is: FieldType };

export type FieldTable<S> = Readonly<Record<string, Field<S>>>;

type FieldType = Exclude<Field<never>['type'], 'absent'>;

/** All fields of `types`; those that `present` lacks are known but have no value in any subject. */
export function fieldTable<S, T extends Readonly<Record<string, FieldType>>>(
  types: T,
  present: { readonly [K in keyof T]?: Extract<Field<S>, { readonly type: T[K] }> } = {},
): FieldTable<S> {
  const absent = Object.entries(types).map(([name, is]) => [name, { type: 'absent', is }] as const);
  return { ...Object.fromEntries(absent), ...present };
}

export type Condition<S> = (subject: S) => boolean;

export type Compiled<S> =
  | { readonly ok: true; readonly holds: Condition<S> }
  | { readonly ok: false; readonly fault: ExpressionFault };

type ValueType = 'text' | 'number' | 'truth' | 'address';

const NEVER = (): boolean => false;
const ALWAYS = (): boolean => true;

/** Nothing to examine is always true. */
export function compileExpression<S>(
  text: string,
  fields: FieldTable<S>,
  limits: ExpressionLimits = DEFAULT_LIMITS,
): Compiled<S> {
  try {
    const expression = parseExpression(text, limits);
    return { ok: true, holds: expression ? conditionOf(expression, fields) : ALWAYS };
  } catch (error) {
    if (error instanceof FaultFound) return { ok: false, fault: error.fault };
    throw error;
  }
}

function conditionOf<S>(expression: Expression, fields: FieldTable<S>): Condition<S> {
  switch (expression.kind) {
    case 'not': {
      const inner = conditionOf(expression.of, fields);
      return (subject) => !inner(subject);
    }
    case 'and': {
      const parts = expression.of.map((part) => conditionOf(part, fields));
      return (subject) => parts.every((part) => part(subject));
    }
    case 'or': {
      const parts = expression.of.map((part) => conditionOf(part, fields));
      return (subject) => parts.some((part) => part(subject));
    }
    case 'xor': {
      const parts = expression.of.map((part) => conditionOf(part, fields));
      return (subject) => parts.filter((part) => part(subject)).length % 2 === 1;
    }
    case 'any':
    case 'all':
      return listCondition(expression.of, expression.kind === 'any', fields);
    default:
      return comparisonCondition(expression, fields);
  }
}

function fieldOf<S>({ field }: Comparison, fields: FieldTable<S>): Field<S> {
  const found = Object.hasOwn(fields, field.name) ? fields[field.name] : undefined;
  if (!found) throw new FaultFound(field.offset, `the field '${field.name}' is not known`);
  const type = found.type === 'absent' ? found.is : found.type;
  if (field.key !== undefined && type !== 'map') throw new FaultFound(field.offset, `'${field.name}' has no keys`);
  if (field.key === undefined && type === 'map') {
    throw new FaultFound(field.offset, `'${field.name}' needs a key, such as ${field.name}["name"]`);
  }
  if (type === 'map' && field.index === undefined) {
    throw new FaultFound(field.offset, `the values of a key are a list: [0] is the first, [*] each`);
  }
  return found;
}

function listCondition<S>(comparison: Comparison, isAny: boolean, fields: FieldTable<S>): Condition<S> {
  const field = fieldOf(comparison, fields);
  const test = testOf(comparison, 'text') as (value: unknown) => boolean;
  if (field.type !== 'map') return NEVER;
  const key = comparison.field.key!;
  return (subject) => {
    const values = field.of(subject, key);
    if (!values || values.length === 0) return false;
    return isAny ? values.some(test) : values.every(test);
  };
}

function comparisonCondition<S>(comparison: Comparison, fields: FieldTable<S>): Condition<S> {
  const field = fieldOf(comparison, fields);
  const type = field.type === 'absent' ? field.is : field.type;
  const test = testOf(comparison, type === 'map' ? 'text' : type) as (value: unknown) => boolean;
  if (field.type === 'absent') return NEVER;
  if (field.type === 'map') {
    const { key, index } = comparison.field;
    return (subject) => {
      const value = field.of(subject, key!)?.[index as number];
      return value !== undefined && test(value);
    };
  }
  const read = field.of as (subject: S) => unknown;
  return (subject) => {
    const value = read(subject);
    return value !== undefined && test(value);
  };
}

/** What a value has to fulfil. */
function testOf(comparison: Comparison, type: ValueType): (value: never) => boolean {
  if (comparison.kind === 'truth') {
    if (type !== 'truth') throw new FaultFound(comparison.field.offset, `'${comparison.field.name}' is not compared`);
    return (value: boolean) => value;
  }
  if (type === 'truth') {
    throw new FaultFound(comparison.field.offset, `'${comparison.field.name}' is true or false and stands alone`);
  }
  if (comparison.kind === 'in') return listTest(comparison.values, type);
  const { by, value } = comparison;
  if (by === 'contains') {
    if (type !== 'text') throw new FaultFound(value.offset, "'contains' is for texts");
    const part = textOf(value);
    return (text: string) => text.includes(part);
  }
  if (by === 'eq' || by === 'ne') {
    const equal = equalTest(value, type) as (value: unknown) => boolean;
    return by === 'eq' ? equal : (other: unknown) => !equal(other);
  }
  if (type !== 'number') throw new FaultFound(value.offset, `'${by}' is for numbers`);
  return orderTest(by, numberOf(value));
}

function orderTest(by: 'lt' | 'le' | 'gt' | 'ge', bound: number): (value: number) => boolean {
  if (by === 'lt') return (value) => value < bound;
  if (by === 'le') return (value) => value <= bound;
  if (by === 'gt') return (value) => value > bound;
  return (value) => value >= bound;
}

function equalTest(literal: Literal, type: 'text' | 'number' | 'address'): (value: never) => boolean {
  if (type === 'address') {
    const network = networkOf(literal);
    if (network.bits !== network.address.length * 8) {
      throw new FaultFound(literal.offset, 'a network stands in a list: ip.src in {192.0.2.0/24}');
    }
    const wanted = unmappedIP(network.address);
    return (value: Uint8Array) => Buffer.compare(unmappedIP(value), wanted) === 0;
  }
  const wanted = type === 'text' ? textOf(literal) : numberOf(literal);
  return (value: string | number) => value === wanted;
}

function listTest(values: readonly ListValue[], type: 'text' | 'number' | 'address'): (value: never) => boolean {
  const range = type === 'number' ? undefined : values.find(({ last }) => last)?.last;
  if (range) throw new FaultFound(range.offset, 'only numbers have ranges');
  if (type === 'text') {
    const texts = new Set(values.map(({ first }) => textOf(first)));
    return (value: string) => texts.has(value);
  }
  if (type === 'address') return containsOf(values.map(({ first }) => networkOf(first)));
  const ranges = values.map(({ first, last }) => ({ from: numberOf(first), to: numberOf(last ?? first) }));
  const wrong = ranges.findIndex(({ from, to }) => from > to);
  if (wrong >= 0) throw new FaultFound(values[wrong]!.first.offset, 'a range begins with its smaller number');
  return (value: number) => ranges.some(({ from, to }) => from <= value && value <= to);
}

function textOf({ kind, value, offset }: Literal): string {
  if (kind !== 'text') throw new FaultFound(offset, `expected a text in quotes, not ${value}`);
  return value;
}

function numberOf({ kind, value, offset }: Literal): number {
  if (kind !== 'number') throw new FaultFound(offset, 'expected a whole number');
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new FaultFound(offset, 'the number is too large');
  return number;
}

function networkOf({ kind, value, offset }: Literal): Network {
  const network = kind === 'address' ? parseNetwork(value) : undefined;
  if (!network) throw new FaultFound(offset, 'expected an address or a network such as 192.0.2.0/24');
  return network;
}
